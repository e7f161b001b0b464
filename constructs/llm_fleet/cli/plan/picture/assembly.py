"""Reads a cloud assembly, the folder that `cdk synth` writes: `cdk.out`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, cast

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.rules.day_two.plan_codes import PlanCode

_STACK, _NESTED = "aws:cloudformation:stack", "cdk:cloud-assembly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One stack of the assembly: what its template has."""

    name: str
    region: str
    """`unknown-region` when the stack is deployed to whichever region the CDK CLI is called with."""
    resources: Mapping[str, Resource]
    """By logical id."""
    outputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The stacks of a cloud assembly, in the order of its manifest, those of its stages among them."""

    stacks: tuple[Stack, ...]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read `folder`. Raises `FleetError` when it is no cloud assembly, or one without a stack."""
        try:
            stacks = tuple(_stacks(folder))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _refuse(folder, f"{type(error).__name__}: {error}")
        if not stacks:
            _refuse(folder, "its manifest names no stack")
        return cls(stacks=stacks)

    def resources(self) -> Iterator[Resource]:
        """Give every resource of every stack."""
        for stack in self.stacks:
            yield from stack.resources.values()


def _refuse(folder: Path, why: str) -> NoReturn:
    refuse(
        PlanCode.NO_ASSEMBLY,
        f"no picture can be drawn from {folder}: {why}",
        "synthesize again ('npx cdk synth --output cdk.out'), and name the folder in which manifest.json then is",
        value=str(folder),
    )


def _stacks(folder: Path) -> Iterator[Stack]:
    artifacts: Mapping[str, Any] = _json(folder / "manifest.json")["artifacts"]
    for name, artifact in artifacts.items():
        told = artifact.get("properties", {})
        if artifact["type"] == _NESTED:
            yield from _stacks(folder / told["directoryName"])
        elif artifact["type"] == _STACK:
            yield _stack(folder, name, artifact)


def _stack(folder: Path, name: str, artifact: Mapping[str, Any]) -> Stack:
    template = _json(folder / artifact["properties"]["templateFile"])
    stack_name = artifact["properties"].get("stackName", name)
    paths = dict(_paths(folder, artifact))
    return Stack(
        name=stack_name,
        region=artifact["environment"].rpartition("/")[2],
        resources={
            logical_id: Resource(
                stack=stack_name,
                logical_id=logical_id,
                type=found["Type"],
                properties=found.get("Properties", {}),
                path=paths.get(logical_id, ""),
            )
            for logical_id, found in template.get("Resources", {}).items()
        },
        outputs=template.get("Outputs", {}),
    )


def _paths(folder: Path, artifact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the logical id of each construct with its path below the stack; older CDKs tell them in the manifest."""
    told = cast("dict[str, Any]", dict(artifact.get("metadata", {})))
    if "additionalMetadataFile" in artifact:
        told |= _json(folder / artifact["additionalMetadataFile"])
    for path, entries in told.items():
        for entry in entries:
            if entry["type"] == "aws:cdk:logicalId":
                yield entry["data"], path.removeprefix("/").partition("/")[2]


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
