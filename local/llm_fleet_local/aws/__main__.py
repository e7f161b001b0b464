"""The command line: `python -m llm_fleet_local.aws serve|deploy|destroy|status`."""

import sys

from llm_fleet_local.aws.command_line import main

if __name__ == "__main__":
    sys.exit(main())
