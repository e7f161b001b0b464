"""The verbs of the program, one per file: `SUMMARY`, `add_arguments(parser)` and `run(arguments) -> exit code`."""
