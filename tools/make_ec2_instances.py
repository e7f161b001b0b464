"""Writes catalog/data/ec2_instances.json: `python -m tools.make_ec2_instances` (`--check` only compares).

It has every instance type in the responses of EC2's DescribeInstanceTypes that moto bundles.
"""

import json
import sys
from typing import Any

from tools.make_instances import ROOT, ec2_types, facts_of

TARGET = ROOT / "constructs/llm_fleet/catalog/data/ec2_instances.json"
_WHAT = "EC2 instance types: processors, memory, accelerators, network"
_CHECKED = "2026-11-20"
_SOURCE = "EC2 DescribeInstanceTypes as bundled with moto 5.2.5, by tools/make_ec2_instances.py"


_WITHOUT_NEURON_INFO = {"trn2u.48xlarge": {"accelerator": "neuron", "accelerators": 16}}
"""EC2's page of Trn2 instances says 16 Trainium2; the response in moto has no value."""


def ec2_facts_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the catalog's facts from one of EC2's responses, without zero and false values."""
    usage = answer["SupportedUsageClasses"]
    facts = {
        **facts_of(answer),
        "cores": answer["VCpuInfo"].get("DefaultCores"),
        "instance_store_gb": answer.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "gpu_maker": next((gpu["Manufacturer"].lower() for gpu in answer.get("GpuInfo", {}).get("Gpus", [])), None),
        "capacity_block": "capacity-block" in usage,
        "spot": "spot" in usage,
    }
    return {name: value for name, value in facts.items() if value}


def document() -> str:
    """Return the data file's text: one type per line, so that a diff is readable."""
    facts = {
        name: ec2_facts_of(answer) | _WITHOUT_NEURON_INFO.get(name, {}) for name, answer in sorted(ec2_types().items())
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
