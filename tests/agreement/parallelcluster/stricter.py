"""Clusters that llm-fleet rejects and ParallelCluster accepts, with reasons; a test checks that it accepts them."""

from dataclasses import dataclass

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import AllocationStrategy, CapacityType, StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import Dcv, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, PlacementGroup
from tests.rules.parallelcluster.shapes import (
    RESERVATION,
    Cluster,
    Database,
    Head,
    Partition,
    Pool,
    Resource,
    Storage,
    with_head,
    with_queue,
    with_resource,
    with_slurm,
    with_storage,
)


@dataclass(frozen=True, kw_only=True)
class Stricter:
    """A cluster that only llm-fleet rejects."""

    name: str
    cluster: PlacedParallelCluster
    code: Code
    why: str

    def __str__(self) -> str:
        return self.name


NVME = Partition(resources=(Resource(instance_types=("c5d.4xlarge",)),))
SLURMDBD = Database(
    endpoint=None,
    password_secret=None,
    slurmdbd_host="dbd.example.com",
    munge_key_secret="arn:aws:secretsmanager:us-west-2:123456789012:secret:munge-AbCdEf",
)
STRICTER = (
    Stricter(
        name="version of another line",
        cluster=Cluster(version="3.15.1"),
        code=Code.PC_VERSION,
        why="its keys and rules differ from those checked here, and the provider belongs to one version",
    ),
    Stricter(
        name="40 tags",
        cluster=Cluster(tags={f"t{index}": "x" for index in range(40)}),
        code=Code.PC_TAGS,
        why="AWS's provider adds its own tag before it calls ParallelCluster",
    ),
    Stricter(
        name="tag with the prefix aws:",
        cluster=Cluster(tags={"aws:owner": "me"}),
        code=Code.PC_TAGS,
        why="EC2 rejects it when the first instance starts",
    ),
    Stricter(
        name="host names of more than 63 characters",
        cluster=Cluster(cluster_name="a" * 51),
        code=Code.PC_HOST_NAME,
        why="the bootstrap of libfabric and of the Neuron runtime fails on them, and llm-fleet's nodes do not start",
    ),
    Stricter(
        name="login pool of another architecture",
        cluster=Cluster(login_pools=(Pool(instance_type="m7g.large"),)),
        code=Code.PC_ARCHITECTURE,
        why="login nodes mount the head node's /opt/slurm, whose programs do not run on login nodes",
    ),
    Stricter(
        name="placement group of a Capacity Block",
        cluster=with_resource(
            queue={"capacity_type": CapacityType.CAPACITY_BLOCK},
            instance_types=("trn1.32xlarge",),
            min_count=4,
            max_count=4,
            capacity_reservation=CapacityReservation(reservation_id=RESERVATION),
            placement_group=PlacementGroup.managed(),
        ),
        code=Code.PC_PLACEMENT,
        why="instances outside of the group count as not available: nodes fail although their capacity is paid for",
    ),
    Stricter(
        name="Spot price for On-Demand Instances",
        cluster=with_resource(spot_price=1.5),
        code=Code.PC_SPOT_PRICE,
        why="it is dropped, and the user pays the On-Demand price",
    ),
    Stricter(
        name="Spot price of 0",
        cluster=with_resource(queue={"capacity_type": CapacityType.SPOT}, spot_price=0),
        code=Code.PC_SPOT_PRICE,
        why="no instance is free",
    ),
    Stricter(
        name="allocation strategy with a single instance type",
        cluster=with_queue(allocation_strategy=AllocationStrategy.CAPACITY_OPTIMIZED),
        code=Code.PC_ALLOCATION,
        why="it is dropped, and rejected as soon as a second type is added",
    ),
    Stricter(
        name="denied setting among others",
        cluster=with_slurm(custom_settings=({"MessageTimeout": 60, "GresTypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        why="a mapping of several settings is written without validation",
    ),
    Stricter(
        name="accounting setting with an external slurmdbd",
        cluster=Cluster(
            accounting=SLURMDBD, slurm=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)).slurm
        ),
        code=Code.PC_SLURM_DENIED,
        why="ParallelCluster writes it for a slurmdbd too, but validates only settings with a database",
    ),
    Stricter(
        name="remote desktop on port 70000",
        cluster=with_head(dcv=Dcv(port=70000, allowed_ips="203.0.113.0/24")),
        code=Code.PC_DCV,
        why="the port does not exist: the security group fails at deployment",
    ),
    Stricter(
        name="remote desktop on SSH's port",
        cluster=with_head(dcv=Dcv(port=22, allowed_ips="203.0.113.0/24")),
        code=Code.PC_DCV,
        why="SSH uses the port",
    ),
    Stricter(
        name="malformed reservation ID",
        cluster=with_resource(capacity_reservation=CapacityReservation(reservation_id="reservation-1")),
        code=Code.PC_RESERVATION,
        why="otherwise only EC2 rejects it",
    ),
    Stricter(
        name="reservation without ID and group",
        cluster=with_resource(capacity_reservation=CapacityReservation()),
        code=Code.PC_RESERVATION,
        why="nothing is rendered, and capacity that is paid for is not used",
    ),
    Stricter(
        name="mount directory within another",
        cluster=with_storage(Storage(name="a", mount_dir="/data"), Storage(name="b", mount_dir="/data/models")),
        code=Code.PC_MOUNT_OVERLAP,
        why="OverlappingMountDirValidator gets names instead of directories (3.16.1)",
    ),
    Stricter(
        name="storage at the mount directory of local disks",
        cluster=Cluster(queues=(NVME,), shared_storage=(Storage(mount_dir="/scratch"),)),
        code=Code.PC_MOUNT_OVERLAP,
        why="only a warning in ParallelCluster; one mount hides the other",
    ),
    Stricter(
        name="storage name with a slash",
        cluster=with_storage(name="data/models"),
        code=Code.PC_STORAGE_NAME,
        why="names are treated as directories (3.16.1), and rejected with a storage named `data`",
    ),
    Stricter(
        name="existing EBS volume with a size",
        cluster=with_storage(kind=StorageKind.EBS, existing_id="vol-0123456789abcdef0", settings={"Size": 100}),
        code=Code.PC_STORAGE_EXISTING,
        why="the size is ignored",
    ),
    Stricter(
        name="throughput of gp2",
        cluster=with_storage(settings={"VolumeType": "gp2", "Throughput": 250}),
        code=Code.PC_EBS,
        why="EBS rejects it at deployment",
    ),
    Stricter(
        name="root volume smaller than the image",
        cluster=Cluster(head_node=Head(root_volume=RootVolume(size_gib=44))),
        code=Code.PC_ROOT_VOLUME,
        why="ParallelCluster queries the AMI's size from EC2; here it is that of the release notes "
        "(assumption: parallelcluster-root-volume-of-notes)",
    ),
    Stricter(
        name="address of the head node that is not an Elastic IP",
        cluster=with_head(elastic_ip="203.0.113.7"),
        code=Code.PC_RESOURCE_ID,
        why="otherwise only EC2 rejects it",
    ),
)
