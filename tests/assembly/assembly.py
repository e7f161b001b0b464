"""All templates of one cloud assembly, in order of deployment, with references resolved across stacks."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from llm_fleet_local.aws.assembly.manifest import stacks_of

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource of one stack."""

    stack: str
    logical_id: str
    body: Json

    @property
    def type(self) -> str:
        """The type, e.g. `AWS::EC2::VPC`."""
        return self.body["Type"]

    @property
    def properties(self) -> Json:
        """The properties; may be empty."""
        return self.body.get("Properties", {})

    @property
    def place(self) -> str:
        """`<stack>.<logical id>`, which is also its physical id in resolved values."""
        return f"{self.stack}.{self.logical_id}"

    @property
    def kept(self) -> bool:
        """Whether it is retained when its stack is deleted."""
        return str(self.body.get("DeletionPolicy", "Delete")).startswith("Retain")


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The templates of an assembly by stack name, each stack after its dependencies."""

    templates: Mapping[str, Json]
    regions: Mapping[str, str] = field(default_factory=lambda: defaultdict(lambda: "us-west-2"))
    """The Region of each stack; by default `us-west-2` for all."""

    @classmethod
    def read(cls, folder: Path, *, account: str = "111122223333", region: str = "us-west-2") -> "Assembly":
        """Read the assembly in `folder`; `account` and `region` replace those that the app does not set."""
        stacks = stacks_of(folder, account=account, region=region)
        return cls(
            templates={stack.name: json.loads(stack.template.read_text(encoding="utf-8")) for stack in stacks},
            regions={stack.name: stack.region for stack in stacks},
        )

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Every resource of every stack."""
        return tuple(
            Resource(stack=stack, logical_id=logical_id, body=body)
            for stack, template in self.templates.items()
            for logical_id, body in template.get("Resources", {}).items()
        )

    @cached_property
    def by_place(self) -> Mapping[str, Resource]:
        """Every resource by its place."""
        return {resource.place: resource for resource in self.resources}

    def resolve(self, value: Any, stack: str) -> Any:
        """Return `value` of `stack` with each reference, also across stacks, replaced by the place of its target.

        A `Ref`, and the `GroupId` of a security group, become `<stack>.<logical id>`, another attribute
        `<stack>.<logical id>.<attribute>`. An output of another stack becomes what that stack outputs, with a strong
        reference (`Fn::ImportValue`) or a weak one (`Fn::GetStackOutput`). What stays a token of CloudFormation, such
        as `AWS::StackId`, differs by stack. Other functions stay, with their arguments resolved.
        """
        if isinstance(value, list):
            return [self.resolve(one, stack) for one in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        known = cast(Json, value)
        if len(known) == 1:
            name, argument = next(iter(known.items()))
            if name == "Ref":
                return _pseudo(argument, stack) if str(argument).startswith("AWS::") else f"{stack}.{argument}"
            if name == "Fn::GetAtt":
                return self._attribute(argument, stack)
            if name == "Fn::Join":
                return _joined(argument[0], self.resolve(argument[1], stack))
            if (output := self.output(known)) is not None:
                return self.resolve(output[1], output[0])
        return {key: self.resolve(one, stack) for key, one in known.items()}

    def output(self, value: Json) -> tuple[str, Any] | None:
        """Return the stack and the unresolved value of the output that `value` imports from another stack, if any."""
        weak = value.get("Fn::GetStackOutput")
        if isinstance(weak, dict):
            reference = cast("dict[str, str]", weak)
            return reference["StackName"], self.templates[reference["StackName"]]["Outputs"][reference["OutputName"]][
                "Value"
            ]
        strong = value.get("Fn::ImportValue")
        return self._exports.get(strong) if isinstance(strong, str) else None

    def taken(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the producing stack and the output's value of every reference across stacks in `value`."""
        if isinstance(value, dict):
            if (output := self.output(cast(Json, value))) is not None:
                yield output
                return
            value = list(cast(Json, value).values())
        if isinstance(value, list):
            for one in cast("list[Any]", value):
                yield from self.taken(one)

    def used_by(self, resource: Resource) -> list[Resource]:
        """Return the resources of all stacks that `resource` refers to or lists in DependsOn, each once."""
        needs = resource.body.get("DependsOn", [])
        named = [f"{resource.stack}.{one}" for one in ([needs] if isinstance(needs, str) else needs)]
        found = [*_places(self.resolve(resource.properties, resource.stack), self.by_place), *named]
        return [self.by_place[place] for place in dict.fromkeys(found) if place in self.by_place]

    @cached_property
    def _exports(self) -> Mapping[str, tuple[str, Any]]:
        return {
            str(output["Export"]["Name"]): (stack, output["Value"])
            for stack, template in self.templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def _attribute(self, argument: Any, stack: str) -> str:
        logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
        return f"{stack}.{logical_id}" if attribute == "GroupId" else f"{stack}.{logical_id}.{attribute}"


_SAME_IN_ALL_STACKS = ("AWS::AccountId", "AWS::NoValue", "AWS::Partition", "AWS::Region", "AWS::URLSuffix")


def _pseudo(name: str, stack: str) -> str:
    return f"<{name}>" if name in _SAME_IN_ALL_STACKS else f"<{stack} {name}>"


def _joined(glue: str, parts: Any) -> Any:
    known = cast("list[Any]", parts)
    if isinstance(parts, list) and all(isinstance(part, str) for part in known):
        return glue.join(known)
    return {"Fn::Join": [glue, known]}


def _places(value: Any, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places in a resolved value, with or without an attribute."""
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _places(one, known)
    elif isinstance(value, dict):
        yield from _places(list(cast(Json, value).values()), known)
    elif isinstance(value, str):
        whole = ".".join(value.split(".")[:2])
        if whole in known:
            yield whole
