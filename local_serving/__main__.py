"""The command line: `python -m local_serving serve cdk.out`."""

import sys

from local_serving.command_line import main

if __name__ == "__main__":
    sys.exit(main())
