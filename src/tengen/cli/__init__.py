"""The tengen command: one small file per subcommand."""
