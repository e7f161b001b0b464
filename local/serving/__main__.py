"""The command line: `python -m local.serving serve cdk.out`."""

import sys

from local.serving.command_line import main

if __name__ == "__main__":
    sys.exit(main())
