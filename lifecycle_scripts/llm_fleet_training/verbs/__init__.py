"""What the program does, one verb a file: `SUMMARY`, `add_arguments(parser)` and `run(arguments) -> exit code`."""
