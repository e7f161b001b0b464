"""The process in which `llm-fleet local drill up` keeps a cluster."""

import json
import sys

from llm_fleet_local.drill.run import keep

if __name__ == "__main__":
    sys.exit(keep(**json.loads(sys.argv[1])))
