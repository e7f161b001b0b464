"""`python -m drill`: see `cli`."""

import sys

from drill.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
