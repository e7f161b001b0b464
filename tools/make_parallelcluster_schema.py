"""Writes catalog/data/parallelcluster_schema.json: `python -m tools.make_parallelcluster_schema` (`--check` compares).

The facts are those of ParallelCluster's own schema, which
local/llm_fleet_local/parallelcluster/inside/describe_schema.py prints in its environment.
"""

import json
import subprocess
import sys

from tools.synth_environment import ROOT

TARGET = ROOT / "constructs/llm_fleet/catalog/data/parallelcluster_schema.json"
_PYTHON = ROOT / ".tools/parallelcluster/bin/python"
_WHAT = "keys of ParallelCluster's configuration"
_CHECKED = "2026-11-20"
_SOURCE = "ClusterSchema of the package aws-parallelcluster 3.16.1, by tools/make_parallelcluster_schema.py"


def text() -> str:
    """Return the data file's text: one key per line, so that a diff is readable."""
    listed = subprocess.run(
        [str(_PYTHON), str(ROOT / "local/llm_fleet_local/parallelcluster/inside/describe_schema.py")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(facts)}" for key, facts in json.loads(listed).items())
    head = (
        f'{{\n  "what": {json.dumps(_WHAT)},\n  "source": {json.dumps(_SOURCE)},\n'
        f'  "checked": {json.dumps(_CHECKED)},\n  "facts": {{\n'
    )
    return f"{head}{lines}\n  }}\n}}\n"


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    if "--check" in arguments:
        return int(TARGET.read_text(encoding="utf-8") != text())
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
