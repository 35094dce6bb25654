"""Who does the work of a long computation: processes of this machine, or actors on a cluster."""
