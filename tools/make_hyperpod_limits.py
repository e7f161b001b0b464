"""Writes catalog/data/hyperpod_limits.json: `python -m tools.make_hyperpod_limits` (`--check` only compares).

Every constraint that botocore's model puts on a field of CreateCluster, apart from what llm-fleet does not offer.
A field that the service adds shows up here by itself, and a test fails until it is either offered or put on the list.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.session import get_session

TARGET = Path(__file__).parents[1] / "constructs/llm_fleet/catalog/data/hyperpod_limits.json"
WHAT = "limits of the fields of CreateCluster"
CHECKED = "2026-11-20"
_NAMES = {"min": "minimum", "max": "maximum", "pattern": "pattern"}
"""The fields of `Limit`, by the names in botocore's models."""
NOT_OFFERED = {
    "AutoScaling": "EKS",
    "ClusterRole": "serves AutoScaling",
    "InstanceGroups[].KubernetesConfig": "EKS",
    "Orchestrator.Eks": "EKS",
    "RestrictedInstanceGroups": "Nova customization, not Slurm",
    "RestrictedInstanceGroupsConfig": "likewise",
    "TieredStorageConfig": "EKS",
}


def constraints(shape: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path of each constrained field at and under `shape`, with its constraints; `[]` is a list member."""
    if path in NOT_OFFERED:
        return
    limits = {name: shape.metadata[key] for key, name in _NAMES.items() if key in shape.metadata}
    if path and limits:
        yield path, limits
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            yield from constraints(member, f"{path}.{name}" if path else name)
    elif shape.type_name == "list":
        yield from constraints(shape.member, f"{path}[]")


def document() -> str:
    """Return the data file's text: one field a line."""
    shape: Any = get_session().get_service_model("sagemaker").operation_model("CreateCluster").input_shape
    lines = ",\n".join(f"    {json.dumps(path)}: {json.dumps(limits)}" for path, limits in constraints(shape))
    source = "CreateCluster of botocore's SageMaker model, by tools/make_hyperpod_limits.py"
    head = (
        f'{{\n  "what": {json.dumps(WHAT)},\n  "source": {json.dumps(source)},\n'
        f'  "checked": {json.dumps(CHECKED)},\n  "facts": {{\n'
    )
    return f"{head}{lines}\n  }}\n}}\n"


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    text = document()
    if "--check" in arguments:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
