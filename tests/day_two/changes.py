"""Fifty changes of fleet files (`changes.yaml`): what CloudFormation does with every resource, and what `plan` said.

Each is deployed twice to a local emulation, before and after. What is expected is in the table, and once more in
CloudFormation's resource schemas: which properties cannot change in place.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from llm_fleet.cli.plan.fleet_sections import Section
from llm_fleet.cli.plan.stack_templates import synthesized_stacks
from llm_fleet_local.aws.client import LocalAws
from tests.assembly.assembly import Assembly
from tests.assembly.checks import replaced, weak_references
from tests.assembly.fleets import merge, synthesize
from tests.day_two.deployed import REGION, DeployedFleet, Done, Place
from tests.deployment.inference_on_aws import BUCKET, PREFIX, lay_model

DATA, JOBS, REFUSED, ADDRESS = "LF1086", "LF1087", "LF1088", "LF1089"
_HOLDS_DATA = (
    "AWS::DynamoDB::Table",
    "AWS::FSx::FileSystem",
    "AWS::FSx::Volume",
    "AWS::KMS::Key",
    "AWS::RDS::DBCluster",
    "AWS::S3::Bucket",
)
_ALLOWED: Mapping[str | None, set[str | None]] = {
    "add": {"added"},
    "update": {"changed", "unknown", "maybe_replaced"},
    "replace": {"replaced", "maybe_replaced", "unknown"},
    "remove": {"removed"},
    "keep": {"kept"},
    None: {None, "changed", "unknown", "maybe_replaced"},
}
"""What the plan may have said, by what became of a resource. A value that is written again may be the same."""


@cache
def _table() -> Mapping[str, Any]:
    return yaml.safe_load((Path(__file__).parent / "changes.yaml").read_text(encoding="utf-8"))


@dataclass(kw_only=True)
class Stage:
    """The deployed fleet: changes of one fleet are adjacent in the table."""

    folder: Path
    _aws: LocalAws | None = None
    _fleet: str = ""
    _ids: dict[str, str] = field(default_factory=dict[str, str])
    _assemblies: dict[str, Path] = field(default_factory=dict[str, Path])
    _deployed: Path | None = None
    """The deployed assembly, if it is known."""

    def before(self, fleet: str, patch: Mapping[str, Any]) -> tuple[DeployedFleet, Path]:
        """Deploy the `fleet` of the table with `patch`; return it with its assembly."""
        if fleet == self._fleet and self._aws is not None:
            assembly = self.assembly(fleet, patch)
            deployed = DeployedFleet(self._aws, fleet)
            if deployed.restore(assembly, is_deployed=assembly == self._deployed):
                return deployed, assembly
        self.close()
        self._open(fleet)
        assert self._aws is not None
        assembly = self.assembly(fleet, patch)
        report = self._aws.deploy(assembly)
        assert report.succeeded, report
        return DeployedFleet(self._aws, fleet), assembly

    def deploy(self, fleet: DeployedFleet, after: Path) -> Done:
        """Deploy the assembly `after`, and remember it as deployed."""
        done = fleet.deploy(after)
        self._deployed = None if done.failed else after
        return done

    def assembly(self, fleet: str, patch: Mapping[str, Any]) -> Path:
        """Return the assembly of a fleet of the table with `patch`."""
        whole = deepcopy(_table()["fleets"][fleet])
        merge(whole, deepcopy(patch))
        text = json.dumps(whole, indent=1)
        for name, made in self._ids.items():
            text = text.replace(f'"{name}"', f'"{made}"')
        if text not in self._assemblies:
            folder = self.folder / str(len(self._assemblies))
            assert self._aws is not None
            synthesize(text, folder, account=self._aws.account)
            self._assemblies[text] = folder
        return self._assemblies[text]

    def close(self) -> None:
        """Stop the emulation."""
        if self._aws is not None:
            self._aws.stop()
            self._aws = None

    def _open(self, fleet: str) -> None:
        """Start an emulation with the resources of the table's files: a key, a secret, a certificate, a model."""
        self._aws = LocalAws(region=REGION)
        self._aws.start()
        self._aws.bootstrap()
        client = self._aws.client
        self._fleet = fleet
        self._ids = {
            "KEY": client("kms").create_key()["KeyMetadata"]["Arn"],
            "SECRET": client("secretsmanager").create_secret(Name="slurm", SecretString="{}")["ARN"],
            "CERTIFICATE": client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"],
        }
        client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        lay_model(self._aws)
        for one in client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]:
            key = one["Key"].replace(PREFIX, "another", 1)
            client("s3").copy_object(Bucket=BUCKET, Key=key, CopySource={"Bucket": BUCKET, "Key": one["Key"]})


def changes_of(*fleets: str) -> tuple[str, ...]:
    """Return the names of the changes of these fleets, by default of all, in the order of the table."""
    return tuple(name for name, reported in _table()["changes"].items() if not fleets or reported["fleet"] in fleets)


def assert_does_what_plan_said(name: str, stage: Stage) -> None:
    """Deploy a change of the table; fail if table, schemas, plan and the AWS emulator differ."""
    reported: Mapping[str, Any] = _table()["changes"][name]
    fleet, before = stage.before(reported["fleet"], reported.get("before", {}))
    after = stage.assembly(reported["fleet"], reported["after"])
    plan = fleet.plan(after)
    done = stage.deploy(fleet, after)
    paths = dict(_paths(before, reported["fleet"])) | dict(_paths(after, reported["fleet"]))
    findings = {
        "differs from the table": _as_reported(done, paths, reported.get("does", {})),
        "the plan differs": _disagreements(plan, done, before, after),
        "not reported": _unannounced(plan, done, before),
    }
    assert {key: value for key, value in findings.items() if value} == {}
    assert done.failed == tuple(f"{reported['fleet']}-{one}" for one in reported.get("refused", [])), done.report
    assert sorted(_codes(plan)) == sorted(reported.get("says", []))


def _paths(assembly: Path, fleet: str) -> Iterator[tuple[Place, tuple[str, str]]]:
    """Yield each resource in the table's form: the stack without the fleet's name, and the construct path."""
    for stack in synthesized_stacks(assembly):
        for logical_id in stack.resources:
            name = stack.name.removeprefix(f"{fleet}-")
            yield (stack.name, logical_id), (name, stack.where(logical_id).removeprefix(f"{stack.name}/"))


def _as_reported(
    done: Done, paths: Mapping[Place, tuple[str, str]], reported: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return differences of AWS from the table. The first pattern that matches a resource is used."""
    found: list[str] = []
    used: set[tuple[str, str]] = set()
    for place, outcome in done.outcomes.items():
        stack, path = paths[place]
        pattern = next((one for one in reported.get(stack, {}) if fnmatchcase(path, one)), None)
        expected = reported[stack][pattern] if pattern else "nothing"
        used.add((stack, pattern or ""))
        if outcome != expected:
            found.append(f"{stack}: {path}: {outcome}, expected {expected}")
    unused = [(stack, one) for stack, those in reported.items() for one in those if (stack, one) not in used]
    return [*sorted(found), *(f"{stack}: {one}: nothing" for stack, one in unused)]


def _disagreements(plan: Section, done: Done, before: Path, after: Path) -> list[str]:
    """Compare with the schemas, and with the plan."""
    old, new = (Assembly.read(one, account="123456789012") for one in (before, after))
    found = weak_references(new)
    gone = replaced(old, new)
    kinds = {(one["stack"], one["logical_id"]): one["what"] for one in plan.data["resources"]}
    certain = {one["stack"] for one in plan.data["refused_updates"] if one["certain"]}
    certain_of_service = any(one["refused"] for one in plan.data["hyperpod_groups"])
    if (certain or certain_of_service) and not done.failed:
        found.append(f"the plan reported that {', '.join(certain) or 'HyperPod'} refuses, but it did not")
    if done.failed and not (set(done.failed) & certain or REFUSED in _codes(plan)):
        found.append(f"{', '.join(done.failed)} failed, but the plan did not report it")
    reached = {stack.name for stack in done.report.stacks if stack.succeeded}
    for place in {*done.outcomes, *kinds}:
        if place[0] not in reached:
            continue
        outcome, kind = done.outcomes.get(place), kinds.get(place)
        by_schema = f"{place[0]}.{place[1]}" in gone
        if by_schema != (outcome in ("replace", "remove", "keep")):
            found.append(f"{place}: {outcome}; by the schemas it {'must' if by_schema else 'need not'} go")
        follows = outcome == "update" and kind is None and _takes_from(new, place, done.outcomes)
        if kind not in _ALLOWED[outcome] and not follows:
            found.append(f"{place}: {outcome}, but the plan reported {kind}")
    return sorted(found)


def _takes_from(assembly: Assembly, place: Place, outcomes: Mapping[Place, str]) -> bool:
    """Return whether a resource uses an attribute of a changed resource, whose value is known only then."""
    resource = assembly.by_place[f"{place[0]}.{place[1]}"]
    return any((used.stack, used.logical_id) in outcomes for used in assembly.used_by(resource))


def _codes(plan: Section) -> set[str]:
    groups = {one["code"] for one in plan.data["hyperpod_groups"] if one["code"]}
    clusters = {REFUSED for one in plan.data["parallelclusters"] if not one["passes"]}
    reported = [*plan.data["losses"], *plan.data["refused_updates"], *plan.data["left_stacks"]]
    return {one["code"] for one in reported} | groups | clusters


def _unannounced(plan: Section, done: Done, before: Path) -> list[str]:
    """Return lost data, data without a stack, and removed nodes that the plan does not report."""
    stacks = {stack.name: stack for stack in synthesized_stacks(before)}
    reported = {(one["code"], one["stack"], one["where"]) for one in plan.data["losses"]}
    groups = {(one["stack"], one["group"]) for one in plan.data["hyperpod_groups"] if one["code"] == JOBS}

    def is_reported(code: str, place: Place | None) -> bool:
        # Resources that are no longer in the fleet have their logical id: a deployed template has no construct paths.
        if place is None:
            return False
        stack, logical_id = place
        return not reported.isdisjoint({(code, stack, logical_id), (code, stack, stacks[stack].where(logical_id))})

    left = [
        f"{place} is left behind ({outcome})"
        for place, outcome in done.outcomes.items()
        if outcome in ("replace", "remove", "keep")
        and stacks[place[0]].resources[place[1]]["Type"] in _HOLDS_DATA
        and not is_reported(DATA, place)
    ]
    lost = [f"{one} ({place}) is lost" for one, place in done.lost.items() if not is_reported(DATA, place)]
    ended = [
        f"node {one} of {group} in {cluster} was removed"
        for one, (cluster, group) in done.ended.items()
        if not is_reported(JOBS, cluster) and (cluster is None or (cluster[0], group) not in groups)
    ]
    return [*left, *lost, *ended]
