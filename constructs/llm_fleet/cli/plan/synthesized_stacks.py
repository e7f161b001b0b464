"""Reads the stacks of a cloud assembly."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.rules.day_two.plan_codes import PlanCode

_STACK = "aws:cloudformation:stack"
_UNKNOWN_REGION = "unknown-region"


def synthesized_stacks(assembly: Path) -> tuple[StackTemplate, ...]:
    """Return the stacks of `assembly`, the folder that `cdk synth` wrote. Raises `FleetError` (LF1080)."""
    try:
        artifacts: Mapping[str, Any] = _json(assembly / "manifest.json")["artifacts"]
        found = tuple(_stacks(assembly, artifacts))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _refuse(assembly, " ".join(f"{type(error).__name__}: {error}".split()))
    if not found:
        _refuse(assembly, "its manifest names no stack")
    return found


def _refuse(assembly: Path, why: str) -> NoReturn:
    refuse(
        PlanCode.ASSEMBLY,
        f"this is no cloud assembly: {why}",
        "name the folder that `cdk synth` wrote, in which manifest.json is, or leave --assembly out",
        subject=str(assembly),
    )


def _stacks(assembly: Path, artifacts: Mapping[str, Any]) -> Iterator[StackTemplate]:
    for name, artifact in artifacts.items():
        if artifact["type"] != _STACK:
            continue
        region = artifact["environment"].rpartition("/")[2]
        template = _json(assembly / artifact["properties"]["templateFile"])
        yield StackTemplate(
            name=artifact["properties"].get("stackName", name),
            region=None if region == _UNKNOWN_REGION else region,
            resources=template.get("Resources", {}),
            paths=dict(_paths(assembly, artifact)),
            outputs=template.get("Outputs", {}),
        )


def _paths(assembly: Path, artifact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    told = dict(artifact.get("metadata", {}))
    if "additionalMetadataFile" in artifact:
        told |= _json(assembly / artifact["additionalMetadataFile"])
    for path, entries in told.items():
        for entry in entries:
            if entry["type"] == "aws:cdk:logicalId":
                yield entry["data"], path.removeprefix("/")


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
