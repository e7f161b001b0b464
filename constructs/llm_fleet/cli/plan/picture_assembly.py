"""Elements of a picture, from a cloud assembly: resources, references, things and links."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NoReturn, Self, cast

from llm_fleet.cli.plan.stack_templates import NO_ASSEMBLY, StackTemplate, stacks_in, values_in
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import PlanCode


class Column(IntEnum):
    """Columns of the picture from left to right: clients, compute, storage; then things outside VPCs."""

    FRONT = 0
    COMPUTE = 1
    STORAGE = 2
    REGION = 3


class Tone(StrEnum):
    """Kind of thing of a card, which has its color."""

    FRONT = "front"
    COMPUTE = "compute"
    STORAGE = "storage"
    WATCH = "watch"
    NETWORK = "network"


class Verb(StrEnum):
    """Relation of two things: a line's color and dashes, and its text in the legend."""

    ASKS = "sends requests to"
    MOUNTS = "mounts"
    READS = "reads"
    WRITES = "reads and writes"
    LOGS = "writes logs to"
    SYNCS = "imports from, exports to"
    USES = "uses"
    NOTIFIES = "alarms notify"
    WATCHED = "is monitored by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A card of the picture."""

    key: str
    """`<stack>.<logical id>`, or the name of an existing resource."""
    title: str
    lines: tuple[str, ...]
    tone: Tone
    column: Column
    stack: str = ""
    """Its stack; empty for an existing resource."""
    subnets: tuple[str, ...] = ()
    """Keys of its subnets, ids of existing ones; empty if it is in none."""
    vpc: str | None = None
    """The VPC of a thing without a subnet, e.g. a gateway."""


_COLUMNS = {
    Tone.FRONT: Column.FRONT,
    Tone.NETWORK: Column.FRONT,
    Tone.COMPUTE: Column.COMPUTE,
    Tone.STORAGE: Column.STORAGE,
    Tone.WATCH: Column.REGION,
}


def card_of(
    resource: "Resource",
    title: str,
    lines: Iterable[str],
    tone: Tone,
    *,
    column: Column | None = None,
    subnets: Iterable[str] = (),
    vpc: str | None = None,
) -> Thing:
    """Return the card of `resource`, in the column of its `tone` unless another is given."""
    return Thing(
        key=resource.key,
        title=short(title),
        lines=tuple(lines),
        tone=tone,
        column=_COLUMNS[tone] if column is None else column,
        stack=resource.stack,
        subnets=tuple(dict.fromkeys(subnets)),
        vpc=vpc,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A line of the picture."""

    source: str
    target: str
    verb: Verb
    how: str = ""
    """Details, e.g. the mount path of a file system."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """A resource of a stack, as in its template."""

    stack: str
    logical_id: str
    type: str
    """E.g. `AWS::FSx::FileSystem`."""
    properties: Mapping[str, Any]
    path: str
    """Path of its construct below the stack: `Bucket-data/Resource`; empty if unknown."""

    @property
    def key(self) -> str:
        """Unique key in the assembly."""
        return f"{self.stack}.{self.logical_id}"

    @property
    def own(self) -> dict[str, Any]:
        """Its properties without the function of a custom resource, whose permissions are not its own."""
        return {name: value for name, value in self.properties.items() if name != "ServiceToken"}


LONGEST = 42
"""Characters of a line of a card; longer texts are shortened with an ellipsis."""
_TIMES = "\N{MULTIPLICATION SIGN}"


def short(text: str, most: int = LONGEST) -> str:
    """Return `text` with at most `most` characters, shortened in the middle, because names differ at both ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def construct_name(path: str, logical_id: str) -> str:
    """Return the name of a construct: its path below the stack, without the ids that every construct has.

    `logical_id` is used if the assembly has no path.
    """
    parts = path.split("/")
    while len(parts) > 1 and parts[-1] in ("Resource", "Default"):
        parts.pop()
    return short("/".join(parts) or logical_id)


def count(amount: object, instance_type: str, minimum: object = None) -> str:
    """Return e.g. `16 x ml.trn1.32xlarge` or `0-4 x p5.48xlarge`, with a multiplication sign."""
    most = str(amount)
    least = str(minimum) if minimum is not None else most
    return f"{most if least == most else f'{least}-{most}'} {_TIMES} {instance_type}"


def wrapped(words: Iterable[str], most: int = LONGEST) -> tuple[str, ...]:
    """Return `words` with commas, in lines of at most `most` characters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= most:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return tuple(lines)


def some(lines: Iterable[str], most: int) -> tuple[str, ...]:
    """Return at most `most` of `lines`, the last one with the number of other lines."""
    known = list(lines)
    if len(known) <= most:
        return tuple(known)
    return (*known[: most - 1], f"and {len(known) - most + 1} more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The stacks of a cloud assembly and of its stages, in the order of its manifest."""

    stacks: tuple[StackTemplate, ...]
    by_stack: Mapping[str, Mapping[str, Resource]]
    """The resources of each stack, by logical id."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read `folder`. Raises `FleetError` if it is not a cloud assembly with a stack."""
        try:
            stacks = tuple(stacks_in(folder, with_stages=True))
            by_stack = {stack.name: _resources(stack) for stack in stacks}
        except NO_ASSEMBLY as error:
            _refuse(folder, f"{type(error).__name__}: {error}")
        if not stacks:
            _refuse(folder, "its manifest has no stack")
        return cls(stacks=stacks, by_stack=by_stack)

    def resources(self) -> Iterator[Resource]:
        """Yield every resource of every stack."""
        for resources in self.by_stack.values():
            yield from resources.values()


def _refuse(folder: Path, why: str) -> NoReturn:
    refuse(
        PlanCode.NO_ASSEMBLY,
        f"cannot draw a picture from {folder}: {why}",
        "synthesize again with `npx cdk synth --output cdk.out`, and use the directory with manifest.json",
        value=str(folder),
    )


def _resources(stack: StackTemplate) -> dict[str, Resource]:
    return {
        logical_id: Resource(
            stack=stack.name,
            logical_id=logical_id,
            type=found["Type"],
            properties=found.get("Properties", {}),
            path=stack.paths.get(logical_id, "").partition("/")[2],
        )
        for logical_id, found in stack.resources.items()
    }


_IN_SUB = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}")
_UNKNOWN = "…"


class References:
    """Finds the resources behind `Ref`, `Fn::GetAtt` and outputs of other stacks, however deep in a value."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._outputs = {stack.name: stack.outputs for stack in assembly.stacks}
        self._exports = {
            str(output["Export"]["Name"]): (stack.name, output["Value"])
            for stack in assembly.stacks
            for output in stack.outputs.values()
            if "Export" in output
        }

    def of(self, value: Any, stack: str) -> list[Resource]:
        """Return the resources that `value` refers to, each once, in their order."""
        return list({found.key: found for found in self._each(value, stack)}.values())

    def texts(self, value: Any) -> Iterator[str]:
        """Yield every text within `value`."""
        return (part for part in values_in(value) if isinstance(part, str))

    def text(self, value: Any) -> str:
        """Return `value` as text, with `…` for values that are resolved at deployment."""
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            joined = known.get("Fn::Join")
            if isinstance(joined, list):
                glue, pieces = cast("tuple[str, list[Any]]", joined)
                return glue.join(self.text(piece) for piece in pieces)
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

    def _named(self, intrinsic: str, reported: Any, stack: str) -> Iterator[Resource]:
        names = [reported] if isinstance(reported, str) else list(reported)[:1]
        if intrinsic == "Fn::Sub":
            names = _IN_SUB.findall(str(names[0]))
        resources = self._assembly.by_stack[stack]
        # CloudFormation also accepts "Id.Attribute" as one text.
        yield from (resources[name] for each in names if (name := str(each).partition(".")[0]) in resources)

    def _output(self, known: dict[str, Any]) -> tuple[str, Any] | None:
        """Return the stack and the value of the output of another stack that `known` imports, if any."""
        wanted = known.get("Fn::GetStackOutput")
        if isinstance(wanted, dict):
            reported = cast("dict[str, str]", wanted)
            output = self._outputs.get(reported["StackName"], {}).get(reported["OutputName"])
            return (reported["StackName"], output["Value"]) if output is not None else None
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
"""Types that are parts of the resources that refer to them, without a card."""


class View:
    """The assembly's resources by type, with their parts."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.references = References(assembly)
        self._policies_of: dict[str, list[Resource]] = {}
        for policy in self.of_type(*_POLICY):
            for role in self.named(policy, policy.properties.get("Roles")):
                self._policies_of.setdefault(role.key, []).append(policy)

    def of_type(self, *types: str) -> Iterator[Resource]:
        """Yield every resource of `types`."""
        return (found for found in self.assembly.resources() if found.type in types)

    def named(self, resource: Resource, value: Any, *types: str) -> list[Resource]:
        """Return the resources that `value`, a part of `resource`, refers to; of `types`, if any are given."""
        found = self.references.of(value, resource.stack)
        return [one for one in found if not types or one.type in types]

    def places(self, resource: Resource, value: Any) -> tuple[str, ...]:
        """Return the keys of the subnets in `value`: of this assembly, or ids of existing ones."""
        made = [subnet.key for subnet in self.named(resource, value, "AWS::EC2::Subnet")]
        existing = [text for text in self.references.texts(value) if text.startswith("subnet-")]
        return tuple(dict.fromkeys([*made, *existing]))

    def body(self, resource: Resource) -> list[Resource]:
        """Return `resource` with its parts: role, policies, launch template."""
        found = {resource.key: resource}
        left = [resource]
        while left:
            one = left.pop(0)
            for part in [*self.named(one, one.own), *self._policies_of.get(one.key, ())]:
                if part.type in _HELPERS and part.key not in found:
                    found[part.key] = part
                    left.append(part)
        return list(found.values())
