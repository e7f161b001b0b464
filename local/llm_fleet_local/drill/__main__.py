"""`python -m llm_fleet_local.drill`: see `cli`."""

import sys

from llm_fleet_local.drill.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
