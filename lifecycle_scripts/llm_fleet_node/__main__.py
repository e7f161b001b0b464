"""`python3 -m llm_fleet_node <hook> [options]`: see `arguments`."""

import sys

from llm_fleet_node.start import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
