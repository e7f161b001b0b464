"""A change that an update cannot make creates a second cluster, and no resource of the two conflicts."""

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
    """Return a stack with a cluster in a new app, always with the same values."""

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
    """The resources of the cluster, without the bucket of its scripts and shared resources."""
    resources: dict[str, dict[str, Any]] = template.to_json()["Resources"]
    return {name: body for name, body in resources.items() if name.startswith("TrainCluster")}


@pytest.mark.parametrize("change", IMMUTABLE_CHANGES, ids=lambda change: next(iter(change)))
def test_an_immutable_change_creates_another_cluster(build: Build, old: Template, change: dict[str, Any]):
    before, after = of_cluster(old), of_cluster(Template.from_stack(build(**change)))
    assert not set(before) & set(after), "nothing is changed in place: the old cluster goes as a whole, afterwards"
    assert sorted(body["Type"] for body in before.values()) == sorted(body["Type"] for body in after.values())
    assert len(names(before)) == len(names(after)) == 5
    assert not names(before) & names(after), "both clusters exist at the same time"


def names(resources: dict[str, dict[str, Any]]) -> set[str]:
    """The names of the cluster, of its policies, and of its prefix in the bucket."""
    keys = ("ClusterName", "ManagedPolicyName", "Root")
    return {str(body["Properties"][key]) for body in resources.values() for key in keys if key in body["Properties"]}


def test_all_names_contain_the_hash(old: Template):
    (cluster,) = old.find_resources("Custom::PclusterCluster").values()
    digits = cluster["Properties"]["ClusterName"].split("-")[-1]
    for body in of_cluster(old).values():
        for key, value in body["Properties"].items():
            if key.endswith("Name") or key == "Root":
                assert digits in str(value), key


@pytest.mark.parametrize("change", FREE_CHANGES, ids=lambda change: next(iter(change)))
def test_an_update_keeps_the_cluster_for_other_changes(build: Build, old: Template, change: dict[str, Any]):
    assert set(of_cluster(old)) <= set(of_cluster(Template.from_stack(build(**change))))


def test_the_new_cluster_has_its_own_accounting_schema(build: Build):
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
    """The last deployed cluster, read from its template."""
    path = tmp_path / "deployed.template.json"
    path.write_text(json.dumps(old.to_json()))
    return DeployedConfiguration.from_file(path)


def synth(stack: cdk.Stack) -> list[str]:
    """Synthesize the app of `stack` and return its info messages; fails if it has warnings."""
    (artifact,) = cast(cdk.App, stack.node.root).synth().stacks
    return [str(message.entry.data) for message in artifact.messages]


def test_synth_rejects_what_the_update_rejects(build: Build, deployed: DeployedConfiguration):
    with pytest.raises(RuntimeError, match="LF683"):
        synth(build(deployed=deployed, head_node=HeadNode(instance_type="m5.4xlarge")))


def test_synth_accepts_what_the_update_accepts_and_reports_the_plan(build: Build, deployed: DeployedConfiguration):
    (message,) = synth(build(deployed=deployed, queues=[Queue.trainium("trn1", max_count=8)]))
    assert message.startswith(f"an update of {deployed.cluster_name};")
    assert "4 -> 8" in message
    assert "the update passes" in message


def test_a_new_cluster_can_be_allowed(build: Build, deployed: DeployedConfiguration):
    change = {"head_node": HeadNode(instance_type="m5.4xlarge"), "immutable_changes": ImmutableChanges.NEW_CLUSTER}
    (message,) = synth(build(deployed=deployed, **change))
    assert f"in addition to {deployed.cluster_name};" in message


def test_a_change_that_requires_a_stopped_fleet(build: Build, deployed: DeployedConfiguration):
    queues = [Queue.trainium("trn1", instance_type="trn1n.32xlarge", max_count=4)]
    with pytest.raises(RuntimeError, match="LF684"):
        synth(build(deployed=deployed, queues=queues))
    synth(build(deployed=deployed, queues=queues, fleet_is_stopped=True))
