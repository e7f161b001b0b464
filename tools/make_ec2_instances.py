"""Writes catalog/data/ec2_instances.json: `python -m tools.make_ec2_instances` (`--check` only compares).

It has every instance type in the responses of EC2's DescribeInstanceTypes that moto bundles.
"""

import json
import sys

from llm_fleet.catalog.ec2_instances import reported_facts
from tools.make_instances import ROOT, ec2_types

TARGET = ROOT / "constructs/llm_fleet/catalog/data/ec2_instances.json"
_WHAT = "EC2 instance types: processors, memory, accelerators, network"
_CHECKED = "2026-11-20"
_SOURCE = "EC2 DescribeInstanceTypes as bundled with moto 5.2.5, by tools/make_ec2_instances.py"


_WITHOUT_NEURON_INFO = {"trn2u.48xlarge": {"accelerator": "neuron", "accelerators": 16}}
"""EC2's page of Trn2 instances says 16 Trainium2; the response in moto has no value."""


def document() -> str:
    """Return the data file's text: one type per line, so that a diff is readable."""
    facts = {
        name: reported_facts(answer) | _WITHOUT_NEURON_INFO.get(name, {})
        for name, answer in sorted(ec2_types().items())
    }
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(values)}" for name, values in facts.items())
    head = (
        f'{{\n  "what": {json.dumps(_WHAT)},\n  "source": {json.dumps(_SOURCE)},\n'
        f'  "checked": {json.dumps(_CHECKED)},\n  "facts": {{\n'
    )
    return f"{head}{lines}\n  }}\n}}\n"


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    if "--check" in arguments:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != document())
    TARGET.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
