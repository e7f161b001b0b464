"""A ParallelCluster and a volume of OpenZFS that outlives it."""

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import FleetNetwork, HeadNode, OpenZfsFileSystem, ParallelCluster, Queue, SharedStorage
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from tests.conftest import ENVIRONMENT

VOLUME = "fsvol-0123456789abcdef0"


def test_the_cluster_names_the_volume_and_so_goes_before_it():
    stack = cdk.Stack(cdk.App(), "Both", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"])
    apps = OpenZfsFileSystem(stack, "Home", network=network).add_volume("apps")
    ParallelCluster(
        stack,
        "Cluster",
        network=network,
        head_node=HeadNode(instance_type="m5.2xlarge"),
        queues=[Queue.trainium("trn1", max_count=4)],
        shared_storage=[SharedStorage.open_zfs("apps", mount_dir="/apps", volume=apps)],
        scripts=None,
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


def test_by_a_construct_or_by_the_id():
    by_construct = SharedStorage.open_zfs("apps", mount_dir="/apps", volume=Known())
    assert by_construct == SharedStorage.open_zfs("apps", mount_dir="/apps", volume_id=VOLUME)


@pytest.mark.parametrize(
    ("volume_id", "volume", "said"),
    [(None, None, "nobody told"), (None, NotKnown(), "nobody told"), (VOLUME, Known(), "told twice")],
)
def test_neither_or_both(volume_id: str | None, volume: Known | NotKnown | None, said: str):
    with pytest.raises(FleetError, match=said) as caught:
        SharedStorage.open_zfs("apps", mount_dir="/apps", volume_id=volume_id, volume=volume)
    assert [problem.code for problem in caught.value.problems] == [Code.PC_OPEN_ZFS_VOLUME]
