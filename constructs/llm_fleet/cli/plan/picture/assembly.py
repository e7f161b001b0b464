"""A synthesized assembly: its resources, what refers to what, and a view of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, cast

from llm_fleet.cli.plan.picture.things import Resource
from llm_fleet.cli.plan.stack_templates import construct_paths, read_json
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.command_codes import PlanCode

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
    artifacts: Mapping[str, Any] = read_json(folder / "manifest.json")["artifacts"]
    for name, artifact in artifacts.items():
        told = artifact.get("properties", {})
        if artifact["type"] == _NESTED:
            yield from _stacks(folder / told["directoryName"])
        elif artifact["type"] == _STACK:
            yield _stack(folder, name, artifact)


def _stack(folder: Path, name: str, artifact: Mapping[str, Any]) -> Stack:
    template = read_json(folder / artifact["properties"]["templateFile"])
    stack_name = artifact["properties"].get("stackName", name)
    paths = {key: path.partition("/")[2] for key, path in construct_paths(folder, artifact)}
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


_IN_SUB = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}")
_UNKNOWN = "…"


class References:
    """Finds the resources behind `Ref`, `Fn::GetAtt` and outputs of other stacks, however deep in a value."""

    def __init__(self, assembly: Assembly) -> None:
        self._stacks = {stack.name: stack for stack in assembly.stacks}
        self._exports = {
            str(output["Export"]["Name"]): (stack.name, output["Value"])
            for stack in assembly.stacks
            for output in stack.outputs.values()
            if "Export" in output
        }

    def of(self, value: Any, stack: str) -> list[Resource]:
        """Return the resources that `value` refers to, each once, in the order in which it names them."""
        return list({found.key: found for found in self._each(value, stack)}.values())

    def texts(self, value: Any) -> Iterator[str]:
        """Give every text within `value`."""
        if isinstance(value, str):
            yield value
        for part in _parts(value):
            yield from self.texts(part)

    def told(self, value: Any) -> str:
        """Return `value` as one text, with `…` for what only a deployment knows."""
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            joined = known.get("Fn::Join")
            if isinstance(joined, list):
                glue, pieces = cast("tuple[str, list[Any]]", joined)
                return glue.join(self.told(piece) for piece in pieces)
            return _UNKNOWN
        return str(value)

    def _each(self, value: Any, stack: str) -> Iterator[Resource]:
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            if len(known) == 1 and (intrinsic := next(iter(known))) in ("Ref", "Fn::GetAtt", "Fn::Sub"):
                yield from self._named(intrinsic, known[intrinsic], stack)
            elif (output := self._output(known)) is not None:
                yield from self._each(output[1], output[0])
                return
        for part in _parts(value):
            yield from self._each(part, stack)

    def _named(self, intrinsic: str, told: Any, stack: str) -> Iterator[Resource]:
        names = [told] if isinstance(told, str) else list(told)[:1]
        if intrinsic == "Fn::Sub":
            names = _IN_SUB.findall(str(names[0]))
        resources = self._stacks[stack].resources
        # CloudFormation also takes "Id.Attribute" as one text.
        yield from (resources[name] for each in names if (name := str(each).partition(".")[0]) in resources)

    def _output(self, known: dict[str, Any]) -> tuple[str, Any] | None:
        """Return stack and value of the output that `known` takes from another stack, if it takes one."""
        wanted = known.get("Fn::GetStackOutput")
        if isinstance(wanted, dict):
            told = cast("dict[str, str]", wanted)
            stack = self._stacks.get(told["StackName"])
            output = stack.outputs.get(told["OutputName"]) if stack is not None else None
            return (told["StackName"], output["Value"]) if output is not None else None
        name = known.get("Fn::ImportValue")
        return self._exports.get(name) if isinstance(name, str) else None


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


_POLICY = ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy")
_HELPERS = frozenset(
    {
        "AWS::IAM::Role",
        "AWS::IAM::InstanceProfile",
        "AWS::ECS::TaskDefinition",
        "AWS::ECS::CapacityProvider",
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::EC2::LaunchTemplate",
        "AWS::SageMaker::Model",
        "AWS::SageMaker::EndpointConfig",
        "AWS::SageMaker::NotebookInstanceLifecycleConfig",
        "Custom::LlmFleetBundle",
        *_POLICY,
    }
)
"""Types that belong to what they are named in, and get no card."""


class View:
    """The assembly by types, with what belongs together."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.references = References(assembly)
        self._policies_of: dict[str, list[Resource]] = {}
        for policy in self.of_type(*_POLICY):
            for role in self.named(policy, policy.properties.get("Roles")):
                self._policies_of.setdefault(role.key, []).append(policy)

    def of_type(self, *types: str) -> Iterator[Resource]:
        """Give every resource of `types`."""
        return (found for found in self.assembly.resources() if found.type in types)

    def named(self, resource: Resource, value: Any, *types: str) -> list[Resource]:
        """Return the resources that `value`, a part of `resource`, refers to; of `types`, if any are given."""
        found = self.references.of(value, resource.stack)
        return [one for one in found if not types or one.type in types]

    def places(self, resource: Resource, value: Any) -> tuple[str, ...]:
        """Return the keys of the subnets in `value`: of this assembly, or ids of those that exist already."""
        made = [subnet.key for subnet in self.named(resource, value, "AWS::EC2::Subnet")]
        existing = [text for text in self.references.texts(value) if text.startswith("subnet-")]
        return tuple(dict.fromkeys([*made, *existing]))

    def body(self, resource: Resource) -> list[Resource]:
        """Return `resource` with everything that belongs to it: its role, its policies, its launch template."""
        found = {resource.key: resource}
        left = [resource]
        while left:
            one = left.pop(0)
            for part in [*self.named(one, _without_provider(one)), *self._policies_of.get(one.key, ())]:
                if part.type in _HELPERS and part.key not in found:
                    found[part.key] = part
                    left.append(part)
        return list(found.values())


def _without_provider(resource: Resource) -> dict[str, Any]:
    """Return the properties of `resource` without the function that makes it, whose rights are not its own."""
    return {name: value for name, value in resource.properties.items() if name != "ServiceToken"}
