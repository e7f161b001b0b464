"""Clusters with file systems and networks of other stacks."""

from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet import (
    DeployedConfiguration,
    ExistingNetworkSpec,
    FleetNetwork,
    HeadNode,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    OpenZfsFileSystem,
    ParallelCluster,
    ParallelClusterSpec,
    Queue,
    SharedStorage,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from tests.conftest import ENVIRONMENT
from tests.made_clusters import parallel_cluster
from tests.parallelcluster.conftest import SECURITY_GROUP, SUBNETS
from tools.synth_environment import cdk_context

VOLUME = "fsvol-0123456789abcdef0"


def test_the_cluster_refers_to_the_volume_and_is_deleted_before_it():
    stack = cdk.Stack(cdk.App(), "Both", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    apps = OpenZfsFileSystem(stack, "Home", network=network).add_volume("apps")
    ParallelCluster(
        stack,
        "Cluster",
        ParallelClusterSpec(
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4)],
            shared_storage=[SharedStorage.open_zfs("apps", mount_dir="/apps", volume=apps)],
            scripts=None,
        ),
        network=network,
    )
    (cluster,) = Template.from_stack(stack).find_resources("Custom::PclusterCluster").values()
    assert cluster["Properties"]["ClusterConfiguration"]["SharedStorage"] == [
        {
            "MountDir": "/apps",
            "Name": "apps",
            "StorageType": "FsxOpenZfs",
            # A reference to a resource of the same template: CloudFormation deletes what refers first.
            "FsxOpenZfsSettings": {"VolumeId": {"Ref": stack.get_logical_id(apps.resource)}},
        }
    ]


class Known:
    volume_id = VOLUME


class NotKnown:
    volume_id = None


def test_a_volume_is_given_by_a_construct_or_by_its_id():
    by_construct = SharedStorage.open_zfs("apps", mount_dir="/apps", volume=Known())
    assert by_construct == SharedStorage.open_zfs("apps", mount_dir="/apps", volume_id=VOLUME)


@pytest.mark.parametrize(
    ("volume_id", "volume", "said"),
    [
        (None, None, "`volume_id` or `volume` is required"),
        (None, NotKnown(), "`volume_id` or `volume` is required"),
        (VOLUME, Known(), "set only one of `volume_id`"),
    ],
)
def test_exactly_one_of_volume_and_volume_id_is_required(
    volume_id: str | None, volume: Known | NotKnown | None, said: str
):
    with pytest.raises(FleetError, match=said) as caught:
        SharedStorage.open_zfs("apps", mount_dir="/apps", volume_id=volume_id, volume=volume)
    assert [problem.code for problem in caught.value.problems] == [Code.PC_OPEN_ZFS_VOLUME]


def fleet(tmp_path: Path, *, max_count: int = 4, deployed: DeployedConfiguration | None = None) -> cdk.App:
    # An app of a user with the flag of `cdk init`: references to lasting constructs are strong nevertheless.
    flag = {"@aws-cdk/core:defaultCrossStackReferences": "weak"}
    app = cdk.App(context={**cdk_context(), **flag}, outdir=str(tmp_path / f"out{max_count}"))
    lasting = cdk.Stack(app, "Lasting", env=ENVIRONMENT)
    network = FleetNetwork(lasting, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    home = OpenZfsFileSystem(lasting, "Home", network=network)
    cluster = ParallelCluster(
        cdk.Stack(app, "Train", env=ENVIRONMENT),
        "Cluster",
        ParallelClusterSpec(
            shared_storage=[SharedStorage.open_zfs("apps", mount_dir="/apps", volume=home.add_volume("apps"))],
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=max_count)],
        ),
        network=network,
        lustre=LustreFileSystem(lasting, "Fsx", LustreSpec(storage_capacity_gib=1200), network=network),
        open_zfs=home,
        read_buckets=[s3.Bucket(lasting, "Data")],
        deployed=deployed,
    )
    assert cluster.cluster_name
    return app


def test_the_cluster_depends_on_the_lasting_stack_and_is_compared_with_its_deployed_template(tmp_path: Path):
    app = fleet(tmp_path)
    app.synth()
    lasting, train = (cast(cdk.Stack, app.node.find_child(name)) for name in ("Lasting", "Train"))
    assert [stack.stack_name for stack in train.dependencies] == ["Lasting"]
    assert not lasting.dependencies

    deployed = DeployedConfiguration.from_file(tmp_path / "out4" / "Train.template.json")
    subnet = deployed.configuration["HeadNode"]["Networking"]["SubnetId"]
    assert list(subnet) == ["Fn::ImportValue"], "no Ref, as it would be before the references are resolved"
    stacks = fleet(tmp_path, max_count=8, deployed=deployed).synth().stacks
    (text,) = [str(message.entry.data) for stack in stacks for message in stack.messages]
    assert "1 change (free: 1); the update passes" in text


def test_two_clusters_share_a_network_and_its_files(tmp_path: Path):
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    stack = cdk.Stack(app, "Both", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=1200), network=network)
    names = {
        ParallelCluster(
            stack,
            name,
            ParallelClusterSpec(
                head_node=HeadNode(instance_type="m5.2xlarge"), queues=[Queue.trainium("trn1", max_count=4)]
            ),
            network=network,
            lustre=lustre,
        ).cluster_name
        for name in ("One", "Two")
    }
    assert len(names) == 2


def test_a_cluster_name_is_unique_in_an_account_and_region(tmp_path: Path):
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))

    def make(id: str, stack: cdk.Stack, **options: Any) -> str:
        network = FleetNetwork.from_attributes(
            stack,
            f"Network{id}",
            ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS, security_group=SECURITY_GROUP),
        )
        head = HeadNode(instance_type="m5.2xlarge")
        queues = [Queue.trainium("trn1", max_count=4)]
        defaults: dict[str, Any] = {"cluster_name": "train", "network": network, "head_node": head, "queues": queues}
        return parallel_cluster(stack, id, **{**defaults, **options}).cluster_name

    one, other = (cdk.Stack(app, id, env=ENVIRONMENT) for id in ("One", "Other"))
    name = make("Train", one)
    for stack in (one, other):
        with pytest.raises(FleetError, match="the cluster at One/Train in the same account and region") as error:
            make("Second", stack)
        assert [problem.code for problem in error.value.problems] == ["LF610"]
    assert make("Green", one, head_node=HeadNode(instance_type="m5.4xlarge")) != name, "side by side"
    assert make("Abroad", cdk.Stack(app, "Abroad", env=cdk.Environment(account="444455556666", region="us-west-2")))
    agnostic = (cdk.Stack(app, id) for id in ("Anywhere", "Elsewhere"))
    assert len({make("Train", stack) for stack in agnostic}) == 1, "account and region are unknown"
