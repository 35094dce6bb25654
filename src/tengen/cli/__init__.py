"""The tengen command: one file per group of subcommands."""
