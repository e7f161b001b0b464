"""A change that no update can make is another cluster next to the old one, and nothing of the two collides."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    Accounting,
    DeployedConfiguration,
    FleetNetwork,
    HeadNode,
    ImmutableChanges,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    ParallelClusterVersion,
    Queue,
    SharedStorage,
)
from tests.conftest import ENVIRONMENT
from tests.made_clusters import parallel_cluster
from tools.synth_environment import cdk_context

Build = Callable[..., cdk.Stack]
FREE_CHANGES: list[dict[str, Any]] = [
    {"queues": [Queue.trainium("trn1", max_count=8), Queue.cpu("cpu", instance_type="c5.4xlarge", max_count=2)]},
    {"login_pools": [LoginPool(name="login", instance_type="m5.large")]},
    {"tags": {"team": "llm"}},
    {"log_retention_days": 30},
    {"shared_storage": [SharedStorage.efs("data", mount_dir="/data", file_system_id="fs-0123456789abcdef9")]},
]
IMMUTABLE_CHANGES: list[dict[str, Any]] = [
    {"head_node": HeadNode(instance_type="m5.4xlarge")},
    {"version": ParallelClusterVersion.V3_16_3},
    {"os": "ubuntu2204"},
]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a stack with a cluster in an app of its own, which is the same each time."""

    def build(**options: Any) -> cdk.Stack:
        app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("out")))
        stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
        network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
        defaults: dict[str, Any] = {
            "cluster_name": "train",
            "network": network,
            "lustre": LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=1200), network=network),
            "head_node": HeadNode(instance_type="m5.2xlarge"),
            "queues": [Queue.trainium("trn1", max_count=4)],
        }
        parallel_cluster(stack, "Train", **{**defaults, **options})
        return stack

    return build


@pytest.fixture(scope="module")
def old(build: Build) -> Template:
    """The cluster before any change."""
    return Template.from_stack(build())


def of_cluster(template: Template) -> dict[str, dict[str, Any]]:
    """The resources of the cluster; the bucket of its scripts and what others share are not among them."""
    resources: dict[str, dict[str, Any]] = template.to_json()["Resources"]
    return {name: body for name, body in resources.items() if name.startswith("TrainCluster")}


@pytest.mark.parametrize("change", IMMUTABLE_CHANGES, ids=lambda change: next(iter(change)))
def test_a_change_that_no_update_can_make_is_another_cluster(build: Build, old: Template, change: dict[str, Any]):
    before, after = of_cluster(old), of_cluster(Template.from_stack(build(**change)))
    assert not set(before) & set(after), "nothing is changed in place: the old cluster goes as a whole, afterwards"
    assert sorted(body["Type"] for body in before.values()) == sorted(body["Type"] for body in after.values())
    assert len(names(before)) == len(names(after)) == 5
    assert not names(before) & names(after), "both clusters exist at the same time"


def names(resources: dict[str, dict[str, Any]]) -> set[str]:
    """Every name of the cluster's own: of itself, its policies and the part of the bucket that it has."""
    keys = ("ClusterName", "ManagedPolicyName", "Root")
    return {str(body["Properties"][key]) for body in resources.values() for key in keys if key in body["Properties"]}


def test_everything_that_has_a_name_carries_the_hash(old: Template):
    (cluster,) = old.find_resources("Custom::PclusterCluster").values()
    digits = cluster["Properties"]["ClusterName"].split("-")[-1]
    for body in of_cluster(old).values():
        for key, value in body["Properties"].items():
            if key.endswith("Name") or key == "Root":
                assert digits in str(value), key


@pytest.mark.parametrize("change", FREE_CHANGES, ids=lambda change: next(iter(change)))
def test_what_an_update_can_change_stays_the_same_cluster(build: Build, old: Template, change: dict[str, Any]):
    assert set(of_cluster(old)) <= set(of_cluster(Template.from_stack(build(**change))))


def test_accounting_of_the_new_cluster_is_in_a_schema_of_its_own(build: Build):
    secret = secretsmanager.Secret.from_secret_complete_arn(
        cdk.Stack(), "S", "arn:aws:secretsmanager:us-west-2:111122223333:secret:db-abcdef"
    )
    accounting = Accounting(endpoint="db.example.com", password_secret=secret)
    schemas: set[str] = set()
    for instance_type in ("m5.2xlarge", "m5.4xlarge"):
        template = Template.from_stack(build(accounting=accounting, head_node=HeadNode(instance_type=instance_type)))
        (cluster,) = template.find_resources("Custom::PclusterCluster").values()
        settings = cluster["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmSettings"]
        schemas.add(json.dumps(settings["Database"]["DatabaseName"]))
    assert len(schemas) == 2


@pytest.fixture
def deployed(old: Template, tmp_path: Path) -> DeployedConfiguration:
    """The cluster as it was deployed last, read from its template."""
    path = tmp_path / "deployed.template.json"
    path.write_text(json.dumps(old.to_json()))
    return DeployedConfiguration.from_file(path)


def synth(stack: cdk.Stack) -> list[str]:
    """Synthesize the app of `stack` and return what it is reported without being warned."""
    (artifact,) = cast(cdk.App, stack.node.root).synth().stacks
    return [str(message.entry.data) for message in artifact.messages]


def test_synth_rejects_what_the_update_would(build: Build, deployed: DeployedConfiguration):
    with pytest.raises(RuntimeError, match="LF683"):
        synth(build(deployed=deployed, head_node=HeadNode(instance_type="m5.4xlarge")))


def test_synth_takes_what_the_update_can_and_reports_the_plan(build: Build, deployed: DeployedConfiguration):
    (message,) = synth(build(deployed=deployed, queues=[Queue.trainium("trn1", max_count=8)]))
    assert message.startswith(f"an update of {deployed.cluster_name};")
    assert "4 -> 8" in message
    assert "the update passes" in message


def test_a_new_cluster_that_is_meant(build: Build, deployed: DeployedConfiguration):
    change = {"head_node": HeadNode(instance_type="m5.4xlarge"), "immutable_changes": ImmutableChanges.NEW_CLUSTER}
    (message,) = synth(build(deployed=deployed, **change))
    assert f"in addition to {deployed.cluster_name};" in message


def test_a_change_that_needs_a_stopped_fleet(build: Build, deployed: DeployedConfiguration):
    queues = [Queue.trainium("trn1", instance_type="trn1n.32xlarge", max_count=4)]
    with pytest.raises(RuntimeError, match="LF684"):
        synth(build(deployed=deployed, queues=queues))
    synth(build(deployed=deployed, queues=queues, fleet_is_stopped=True))
