"""The command line: `python -m local.aws serve|deploy|destroy|status`."""

import sys

from local.aws.command_line import main

if __name__ == "__main__":
    sys.exit(main())
