"""The command line: one file a command, each over an importable function."""
