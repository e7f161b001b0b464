"""The Trainium example on ParallelCluster: deployed by the real CDK CLI to a local emulation, changed and destroyed.

One fleet lives once, in the fixture; each test looks at a part of that life. AWS's provider is a stand-in there, which
checks by ParallelCluster's own schema, validators and update policies.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.aws.assembly.report import DeploymentReport
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Reachability
from tests.deployment.conftest import synthesize
from tests.deployment.every_verb import Said, every_verb
from tests.deployment.parallelcluster_on_aws import ParallelClusterOnAws
from tests.local.aws.cli.cdk_cli import DEPLOY, Cli
from tools.synth_environment import ROOT

pytestmark = pytest.mark.usefixtures("few_scripts")

EXAMPLE = ROOT / "examples" / "parallelcluster-trn1.yaml"
pytestmark = pytest.mark.cli


@dataclass(kw_only=True)
class Deployed:
    """The first deployment, while it lives."""

    said: str
    said_again: str
    name: str
    configuration: dict[str, Any]
    stack_outputs: dict[str, str]
    shut_ports: list[str]
    pointer: str
    entry: str
    file_systems: dict[str, str]
    volumes: dict[str, str]


@dataclass(kw_only=True)
class Life:
    """What resulted from each step."""

    deployed: Deployed
    verbs: Mapping[str, Said]
    larger: DeploymentReport
    larger_count: int
    smaller: DeploymentReport
    smaller_count: int
    other_head: DeploymentReport
    other_name: str
    names_then: list[str]
    apps_then: dict[str, Any]
    last: DeploymentReport
    stacks_last: list[str]
    left: dict[str, int]


def changed_example(folder: Path, name: str, *, old: str, new: str) -> Path:
    """The example with one change, synthesized."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    file = folder / f"{name}.yaml"
    lock = f"lock: {EXAMPLE.parent}/trn1/"
    file.write_text(text.replace(old, new).replace("lock: trn1/", lock), encoding="utf-8")
    return synthesize(folder / name, file)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Generator[Life]:
    folder = tmp_path_factory.mktemp("parallelcluster")
    with LocalAws(region="us-east-1") as aws:
        aws.bootstrap()
        cdk, fleet = Cli(aws, folder), ParallelClusterOnAws(aws)
        deployed = _deploy(cdk, fleet, synthesize(folder / "first", EXAMPLE))
        verbs = every_verb(aws, EXAMPLE, folder / "first", "trn1", folder)
        larger = aws.deploy(changed_example(folder, "larger", old="max: 4 ", new="max: 6 "))
        larger_count = fleet.max_count
        smaller = aws.deploy(changed_example(folder, "smaller", old="max: 4 ", new="max: 2 "))
        smaller_count = fleet.max_count
        last = changed_example(folder, "other-head", old="type: c5.4xlarge", new="type: c5.9xlarge")
        other_head, other_name, names_then = aws.deploy(last), fleet.name, fleet.names
        apps_then = fleet.storage("apps")
        yield Life(
            deployed=deployed,
            verbs=verbs,
            larger=larger,
            larger_count=larger_count,
            smaller=smaller,
            smaller_count=smaller_count,
            other_head=other_head,
            other_name=other_name,
            names_then=names_then,
            apps_then=apps_then,
            last=aws.destroy(last, unprotect=True),
            stacks_last=[stack["name"] for stack in aws.stacks()],
            left=_left(aws),
        )


def _deploy(cdk: Cli, fleet: ParallelClusterOnAws, assembly: Path) -> Deployed:
    said, said_again = cdk(assembly, *DEPLOY), cdk(assembly, *DEPLOY)
    servers = {kind: fleet.file_server(kind) for kind in ("LUSTRE", "OPENZFS")}
    look, head = Reachability(fleet.aws.client("ec2")), fleet.head_node
    configured = fleet.configuration["HeadNode"]["CustomActions"]["OnNodeConfigured"]
    return Deployed(
        said=said,
        said_again=said_again,
        name=fleet.name,
        configuration=fleet.configuration,
        stack_outputs=fleet.outputs("trainium-trn1"),
        shut_ports=[*look.port(head, servers["LUSTRE"][1], 988), *look.port(head, servers["OPENZFS"][1], 2049)],
        pointer=fleet.text(configured["Args"][0]),
        entry=fleet.text(configured["Script"]),
        file_systems={kind: server[0] for kind, server in servers.items()},
        volumes=_volumes(fleet.aws),
    )


def _volumes(aws: LocalAws) -> dict[str, str]:
    """The ids of the OpenZFS volumes, by the paths that clients mount."""
    found = aws.client("fsx").describe_volumes()["Volumes"]
    return {one["OpenZFSConfiguration"]["VolumePath"]: one["VolumeId"] for one in found}


def _left(aws: LocalAws) -> dict[str, int]:
    ec2 = aws.client("ec2")
    addresses = {"Name": "description", "Values": ["STAND-IN*"]}
    policies = aws.client("iam").list_policies(Scope="Local")["Policies"]
    return {
        "volumes": len(_volumes(aws)),
        "file systems": len(aws.client("fsx").describe_file_systems()["FileSystems"]),
        "head nodes": len(ec2.describe_network_interfaces(Filters=[addresses])["NetworkInterfaces"]),
        "policies": len(policies),
    }


def test_every_verb_answers_for_it(life: Life):
    """No instance boots in the emulation: what would ask one says so, and what to do."""
    said = life.verbs
    assert {verb: one.code for verb, one in said.items()} == {
        "check": 1,  # an account without quotas for accelerators
        "plan": 0,
        "nodes": 1,
        "connect": 1,
        "logs": 1,
        "events": 0,
        "upgrade": 0,
        "bundle": 3,
    }
    assert "--quota-code L-2C3B7624 --desired-value 512" in said["check"].out
    assert "the deployed stacks do not change" in said["plan"].out
    assert "the cluster has no instances in this Region" in said["nodes"].err
    assert said["connect"].err == said["nodes"].err
    assert "this cluster has no log group" in said["logs"].err
    assert "nothing changes: it has this version and this image" in said["upgrade"].out
    assert "nodes.json is left out: the cluster has no instances in this Region" in said["bundle"].err


def test_the_cdk_cli_deploys_it_and_again_changes_nothing(life: Life):
    for name in ("network", "storage", "trn1"):
        assert f"✅  trainium-{name}" in life.deployed.said
    assert "STAND-IN" in life.deployed.said, "the provider does not say what it is"
    assert life.deployed.said_again.count("(no changes)") == 3, life.deployed.said_again


def test_it_is_the_cluster_of_the_file(life: Life):
    configuration = life.deployed.configuration
    assert configuration["Image"] == {"Os": "ubuntu2404"}
    assert configuration["HeadNode"]["InstanceType"] == "c5.4xlarge"
    (queue,) = configuration["Scheduling"]["SlurmQueues"]
    (resource,) = queue["ComputeResources"]
    assert (resource["InstanceType"], resource["MaxCount"]) == ("trn1.32xlarge", "4")
    assert resource["Efa"]["Enabled"] == "true"
    assert queue["JobExclusiveAllocation"] == "true"


def test_it_mounts_the_fleets_own_file_systems(life: Life):
    mounts = {one["MountDir"]: one for one in life.deployed.configuration["SharedStorage"]}
    assert set(mounts) == {"/fsx", "/home", "/apps"}
    assert mounts["/fsx"]["FsxLustreSettings"] == {"FileSystemId": life.deployed.file_systems["LUSTRE"]}
    assert mounts["/home"]["FsxOpenZfsSettings"]["VolumeId"].startswith("fsvol-")
    assert mounts["/apps"]["FsxOpenZfsSettings"]["VolumeId"] == life.deployed.volumes["/fsx/apps"]


def test_its_head_node_reaches_both(life: Life):
    assert life.deployed.shut_ports == []


def test_the_stack_reports_name_and_address(life: Life):
    assert life.deployed.name in life.deployed.stack_outputs.values()
    assert any(value.startswith("10.") for value in life.deployed.stack_outputs.values())


def test_the_nodes_find_their_scripts(life: Life):
    assert life.deployed.entry.startswith("#!/usr/bin/env bash")
    assert life.deployed.pointer.strip()


def test_a_legal_change_is_made_in_place(life: Life):
    assert life.larger.succeeded, life.larger
    assert {one.name for one in life.larger.stacks if one.changed} == {"trainium-trn1"}
    assert life.larger_count == 6


def test_a_refused_change_leaves_the_cluster_as_it_was(life: Life):
    failed = life.smaller.stacks[-1]
    assert failed.status == "UPDATE_ROLLBACK_COMPLETE", life.smaller
    assert any("MaxCount" in why and "Stop the compute fleet" in why for why in failed.failures), failed.failures
    assert life.smaller_count == 6


def test_an_immutable_change_is_a_new_cluster_and_the_old_one_goes(life: Life):
    assert life.other_head.succeeded, life.other_head
    assert life.other_name != life.deployed.name
    assert life.names_then == [life.other_name]


def test_the_new_cluster_has_what_the_old_one_left_in_apps(life: Life):
    assert life.apps_then["MountDir"] == "/apps"
    assert life.apps_then["FsxOpenZfsSettings"]["VolumeId"] == life.deployed.volumes["/fsx/apps"]


def test_destroy_leaves_the_file_systems_and_no_cluster(life: Life):
    assert life.last.succeeded, life.last
    assert life.stacks_last == ["CDKToolkit"]
    assert life.left == {"volumes": 2, "file systems": 2, "head nodes": 0, "policies": 0}
