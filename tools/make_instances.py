"""Writes catalog/data/instances.json: `python -m tools.make_instances` (`--check` only compares).

The key set is botocore's enum of HyperPod's instance types; the facts are EC2's own DescribeInstanceTypes answers as
moto bundles them; tools/instance_overrides.json corrects single facts and says why.
"""

import gzip
import json
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from botocore.session import get_session

from llm_fleet.catalog.ec2_instances import reported_facts

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "constructs/llm_fleet/catalog/data/instances.json"
OVERRIDES = ROOT / "tools/instance_overrides.json"
WHAT = "HyperPod instance types: processors, memory, accelerators, EFA"
SOURCE = (
    "names: ClusterInstanceType of botocore's SageMaker model; architecture, vcpus, memory_gib, accelerator, "
    "accelerators, efa_interfaces, network_cards and threads_per_core: EC2 DescribeInstanceTypes as bundled with moto; "
    "single facts corrected or added by tools/instance_overrides.json, which names the source of each. EFA counts "
    "agree with aws/sagemaker-hyperpod-cli where it has the type; that HyperPod attaches EFA to types that it lacks "
    "(g4dn, g7, c6a, m6a, c7g, m7g, c8g, m8g): assumption: hyperpod-attaches-efa-to-small-types"
)


def hyperpod_types() -> list[str]:
    """Return the `ml.` names that HyperPod's API accepts, in the model's order."""
    shape = get_session().get_service_model("sagemaker").shape_for("ClusterInstanceType")
    return list(shape.enum)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportAttributeAccessIssue]


def ec2_types() -> dict[str, Any]:
    """Return moto's copy of EC2's answers, by instance type without `ml.`."""
    packed = files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed))


_FACTS: Mapping[str, Any] = dict.fromkeys(
    ("architecture", "vcpus", "memory_gib", "accelerator", "accelerators", "efa_interfaces", "network_cards"), 0
) | {"accelerator": None, "threads_per_core": 0}


def facts_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the catalog's facts from one of EC2's answers, with zeros."""
    reported = reported_facts(answer)
    return {name: reported.get(name, missing) for name, missing in _FACTS.items()}


def catalog() -> dict[str, dict[str, Any]]:
    """Return the facts of every type, with the overrides applied."""
    answers = ec2_types()
    overrides = json.loads(OVERRIDES.read_text(encoding="utf-8"))["overrides"]
    unknown = set(overrides) - set(hyperpod_types())
    if unknown:
        raise SystemExit(f"overrides of types that HyperPod does not offer: {sorted(unknown)}")
    return {
        name: (facts_of(answers[name.removeprefix("ml.")]) if name.removeprefix("ml.") in answers else {})
        | overrides.get(name, {}).get("facts", {})
        for name in hyperpod_types()
    }


def document() -> str:
    """Return the data file's text: one type a line, so that a change reads well in a diff."""
    checked = json.loads(OVERRIDES.read_text(encoding="utf-8"))["checked"]
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(facts)}" for name, facts in catalog().items())
    head = (
        f'{{\n  "what": {json.dumps(WHAT)},\n  "source": {json.dumps(SOURCE)},\n'
        f'  "checked": {json.dumps(checked)},\n  "facts": {{\n'
    )
    return f"{head}{lines}\n  }}\n}}\n"


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    text = document()
    if "--check" in arguments:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
