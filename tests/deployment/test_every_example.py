"""Every example deployed whole, updated once and destroyed, to a local emulation: `make nightly`."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.cli.plan.stack_templates import synthesized_stacks
from llm_fleet.cli.plan.template_changes import template_changes, upgrade_notes
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.assembly.manifest import stacks_of
from llm_fleet_local.aws.client import LocalAws
from tests.day_two.deployed import DeployedFleet, Place
from tests.deployment.around_examples import AROUND, Around, bring, owned_buckets
from tests.deployment.conftest import synthesize
from tests.deployment.what_is_there import what_is_there
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
ACCOUNT = "111122223333"
"""Of the ARNs in the examples."""
_HELD = "has network interfaces of a retained file system"
_STUDIO = "home directories of Studio, and what their domain refers to"
RETAINED = {
    "AWS::DynamoDB::Table": "records of training jobs and of nodes",
    "AWS::EC2::SecurityGroup": _HELD,
    "AWS::EC2::SecurityGroupEgress": _HELD,
    "AWS::EC2::SecurityGroupIngress": _HELD,
    "AWS::EC2::Subnet": _HELD,
    "AWS::EC2::VPC": _HELD,
    "AWS::EC2::VPCCidrBlock": _HELD,
    "AWS::FSx::DataRepositoryAssociation": "data",
    "AWS::FSx::FileSystem": "data",
    "AWS::FSx::Volume": "data",
    "AWS::IAM::ManagedPolicy": _STUDIO,
    "AWS::IAM::Policy": _STUDIO,
    "AWS::IAM::Role": _STUDIO,
    "AWS::KMS::Key": "what is retained is encrypted with it",
    "AWS::Logs::LogGroup": "records",
    "AWS::S3::Bucket": "data and records",
    "AWS::SageMaker::Domain": _STUDIO,
    "AWS::SageMaker::StudioLifecycleConfig": _STUDIO,
    "AWS::SageMaker::UserProfile": _STUDIO,
}
"""What destroying a fleet may leave, and why."""
RETAINED_BY_WISH = {
    "parallelcluster-full": {
        "AWS::CloudFormation::Stack": "`removal: retain`: the cluster, and the stack that runs ParallelCluster",
        "Custom::LlmFleetBundle": "`removal: retain`: nodes of the cluster read it",
        "Custom::PclusterCluster": "`removal: retain`",
    },
}


LAST_RELEASE = "3c78e3ca"


@pytest.fixture
def aws(request: pytest.FixtureRequest) -> Iterator[LocalAws]:
    example: Path = request.getfixturevalue("example")
    region = yaml.safe_load(example.read_text(encoding="utf-8"))["region"]
    with LocalAws(region=region, account=ACCOUNT) as local:
        local.bootstrap()
        yield local


@pytest.mark.nightly
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_deployed_updated_and_destroyed(example: Path, aws: LocalAws, tmp_path: Path) -> None:
    around, others = AROUND.get(example.stem, Around()), what_is_there(aws)
    file = _prepared(example, aws, around, others, tmp_path)
    load_fleet(file)
    first = synthesize(tmp_path / "first.out", file, account=ACCOUNT)
    _deploy_each_stack(first, file, aws, around)
    file.write_text(_tagged(file.read_text(encoding="utf-8")), encoding="utf-8")
    second = _deploy(aws, file, tmp_path / "second.out")
    _assert_updated(aws, second)
    _assert_destroyed(aws, second, others, RETAINED | RETAINED_BY_WISH.get(example.stem, {}))


def _prepared(example: Path, aws: LocalAws, around: Around, others: dict[str, list[str]], tmp_path: Path) -> Path:
    """Create what the example requires, add it to `others`, and return the fleet file with real ids."""
    text = example.read_text(encoding="utf-8")
    if around.network_first:
        whole = yaml.safe_load(text)
        file = tmp_path / "network.yaml"
        network = {name: whole[name] for name in ("fleet", "region", "network", "tags") if name in whole}
        file.write_text(yaml.safe_dump(network), encoding="utf-8")
        _deploy(aws, file, tmp_path / "network.out")
    between = what_is_there(aws)
    owned_buckets(aws, around)
    for surround in around.surround:
        text = surround(aws, text)
    for kind, found in what_is_there(aws).items():
        others[kind] = [*others[kind], *(one for one in found if one not in between[kind])]
    file = _next_to(example, tmp_path)
    file.write_text(text, encoding="utf-8")
    return file


def _deploy_each_stack(assembly: Path, file: Path, aws: LocalAws, around: Around) -> None:
    """Deploy one stack after the other, each with what it requires."""
    for stack in stacks_of(assembly, account=ACCOUNT, region=aws.region):
        bring(aws, around, yaml.safe_load(file.read_text(encoding="utf-8")))
        report = aws.deploy(assembly, only=[stack.name])
        assert report.succeeded, str(report)


@dataclass(frozen=True)
class Release:
    """The last release: until there is one, the commit before the first wheel that users can install."""

    python: Path
    checkout: Path

    def synthesize(self, folder: Path, fleet_file: Path) -> Path:
        """Synthesize as the release did, with its feature flags; return the assembly."""
        command = [str(self.python), "-I", "-O", "-m", "llm_fleet_stacks.synth", "--fleet", str(fleet_file)]
        environment = {**os.environ, "CDK_DEFAULT_ACCOUNT": ACCOUNT, "CDK_DEFAULT_REGION": "us-west-2"}
        subprocess.run([*command, "--out", str(folder)], cwd=self.checkout, env=environment, check=True)
        return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The last release, installed from its wheel into an environment of its own."""
    folder = tmp_path_factory.mktemp("release")
    checkout, uv = folder / "checkout", str(ROOT / ".tools" / "uv" / "bin" / "uv")
    checkout.mkdir()
    archive = subprocess.run(["git", "archive", LAST_RELEASE], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(checkout)], input=archive, check=True)
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(folder)], cwd=checkout, check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", str(folder / "venv")], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), str(wheel)], check=True)
    return Release(python, checkout)


@pytest.mark.nightly
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_fleet_of_the_last_release_is_updated_without_loss(
    example: Path, aws: LocalAws, release: Release, tmp_path: Path
) -> None:
    """No resource is replaced or deleted without a note of `llm-fleet plan` from the changelog, no data and no node is
    lost, and no output is missing.
    """
    example = release.checkout / "examples" / example.name
    if not example.exists():
        pytest.skip("the last release does not have this example")
    around = AROUND.get(example.stem, Around())
    file = _prepared(example, aws, around, what_is_there(aws), tmp_path)
    first = release.synthesize(tmp_path / "first.out", file)
    _deploy_each_stack(first, file, aws, around)
    outputs = _outputs(aws)
    fleet = DeployedFleet(aws, load_fleet(file).name)
    second = synthesize(tmp_path / "second.out", file, account=ACCOUNT)
    done = fleet.deploy(second)
    assert done.report.succeeded, str(done.report)
    changed = {place: outcome for place, outcome in done.outcomes.items() if outcome in ("replace", "remove", "keep")}
    assert changed.keys() <= set(_noted(first, second)), changed
    assert (done.lost, done.ended) == ({}, {})
    assert outputs - _outputs(aws) == set()


def _noted(first: Path, second: Path) -> Iterator[Place]:
    """Yield stack and logical id of each resource whose replacement or removal the plan explains."""
    after = {stack.name: stack for stack in synthesized_stacks(second)}
    for stack in synthesized_stacks(first):
        if stack.name in after:
            for change, _ in upgrade_notes(template_changes(stack, after[stack.name])):
                yield change.stack, change.logical_id


def _outputs(aws: LocalAws) -> set[tuple[str, str]]:
    """Return stack and key of each output."""
    stacks = aws.client("cloudformation").describe_stacks()["Stacks"]
    return {(stack["StackName"], one["OutputKey"]) for stack in stacks for one in stack.get("Outputs", [])}


def _next_to(example: Path, folder: Path) -> Path:
    """Where an example is written with real ids: what it names by relative paths is there, too."""
    file = folder / "examples" / example.name
    file.parent.mkdir()
    for other in example.parent.iterdir():
        if other.name != example.name:
            (file.parent / other.name).symlink_to(other)
    (folder / "lifecycle_scripts").symlink_to(ROOT / "lifecycle_scripts")
    return file


def _deploy(aws: LocalAws, file: Path, folder: Path) -> Path:
    assembly = synthesize(folder, file, account=ACCOUNT)
    report = aws.deploy(assembly)
    assert report.succeeded, str(report)
    return assembly


def _tagged(text: str) -> str:
    """The same fleet with one tag more: every stack, and all in it that takes tags, is updated."""
    whole = yaml.safe_load(text)
    return yaml.safe_dump({**whole, "tags": {**(whole.get("tags") or {}), "updated": "once"}}, sort_keys=False)


def _assert_updated(aws: LocalAws, assembly: Path) -> None:
    """Each stack has the tag, and CloudFormation has changed resources of it."""
    for stack in stacks_of(assembly, account=ACCOUNT, region=aws.region):
        (found,) = aws.client("cloudformation").describe_stacks(StackName=stack.name)["Stacks"]
        assert found["StackStatus"] == "UPDATE_COMPLETE"
        assert {"Key": "updated", "Value": "once"} in found["Tags"]
        changed = {
            one["LogicalResourceId"]
            for one in aws.events(stack.name)
            if one["ResourceStatus"] == "UPDATE_COMPLETE" and one["ResourceType"] != "AWS::CloudFormation::Stack"
        }
        assert changed, stack.name


def _assert_destroyed(aws: LocalAws, assembly: Path, others: dict[str, list[str]], may_stay: dict[str, str]) -> None:
    """What is left was there before, or a stack has said that it retains it."""
    ids = [stack["StackId"] for stack in aws.client("cloudformation").describe_stacks()["Stacks"]]
    report = aws.destroy(assembly, unprotect=True)
    assert report.succeeded, str(report)
    skipped = [one for id in ids for one in aws.events(id) if one["ResourceStatus"] == "DELETE_SKIPPED"]
    assert {one["ResourceType"] for one in skipped} <= set(may_stay)
    retained = {one["PhysicalResourceId"] for one in skipped}
    stacks = [stack for stack in aws.stacks() if stack["name"] != "CDKToolkit"]
    if "AWS::CloudFormation::Stack" not in may_stay:
        assert [stack["name"] for stack in stacks] == []
    retained |= {one["physical_id"] for stack in stacks for one in stack["resources"]}
    retained |= set(_come_along(aws, retained, clusters="Custom::PclusterCluster" in may_stay))
    left = {
        kind: [one for one in found if one not in others[kind] and one.partition(" ")[0] not in retained]
        for kind, found in what_is_there(aws).items()
        if kind != "hosts ever"
    }
    assert {kind: found for kind, found in left.items() if found} == {}, sorted(retained)


def _come_along(aws: LocalAws, retained: set[str], *, clusters: bool) -> Iterator[str]:
    """What has another name than its physical id, or comes along with what is retained, `clusters` among it."""
    for id in retained:
        yield id.rpartition("/")[2]
    ec2: Any = aws.client("ec2")
    for group in ec2.describe_security_groups()["SecurityGroups"]:
        if group["VpcId"] in retained and group["GroupName"] == "default":
            yield group["GroupId"]
    if clusters:
        (head,) = ec2.describe_network_interfaces(
            Filters=[{"Name": "description", "Values": ["STAND-IN for the head node of a ParallelCluster"]}]
        )["NetworkInterfaces"]
        yield head["NetworkInterfaceId"]
    for domain in aws.client("sagemaker").list_domains()["Domains"]:
        home = aws.client("sagemaker").describe_domain(DomainId=domain["DomainId"]).get("HomeEfsFileSystemId")
        targets = [{"Name": "description", "Values": [f"EFS mount target for {home}"]}]
        for one in ec2.describe_network_interfaces(Filters=targets)["NetworkInterfaces"]:
            yield one["NetworkInterfaceId"]
    for system in aws.client("fsx").describe_file_systems()["FileSystems"]:
        if system["FileSystemId"] in retained:
            yield from system["NetworkInterfaceIds"]


def test_every_name_is_of_an_example() -> None:
    assert set(AROUND) | set(RETAINED_BY_WISH) <= {path.stem for path in EXAMPLES}
