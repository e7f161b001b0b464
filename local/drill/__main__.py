"""`python -m local.drill`: see `cli`."""

import sys

from local.drill.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
