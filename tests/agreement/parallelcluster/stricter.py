"""What we refuse and ParallelCluster takes, each with its reason. A test holds that theirs does take it."""

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
    """A cluster that only we refuse."""

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
        why="its keys and rules are others than those checked here, and the provider is of the version",
    ),
    Stricter(
        name="40 tags",
        cluster=Cluster(tags={f"t{index}": "x" for index in range(40)}),
        code=Code.PC_TAGS,
        why="AWS's provider adds a tag of its own before it asks ParallelCluster",
    ),
    Stricter(
        name="tag of AWS's",
        cluster=Cluster(tags={"aws:owner": "me"}),
        code=Code.PC_TAGS,
        why="EC2 refuses it when the first instance starts",
    ),
    Stricter(
        name="host names of more than 63 characters",
        cluster=Cluster(cluster_name="a" * 51),
        code=Code.PC_HOST_NAME,
        why="the bootstrap of libfabric and of the Neuron runtime fails on them, and our nodes refuse to start",
    ),
    Stricter(
        name="login pool of another architecture",
        cluster=Cluster(login_pools=(Pool(instance_type="m7g.large"),)),
        code=Code.PC_ARCHITECTURE,
        why="login nodes mount the head node's /opt/slurm, whose programs do not run there",
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
        why="instances outside of the group count as not available: nodes fail for want of capacity that is paid for",
    ),
    Stricter(
        name="spot price of on-demand instances",
        cluster=with_resource(spot_price=1.5),
        code=Code.PC_SPOT_PRICE,
        why="it is dropped, and the user pays the on-demand price",
    ),
    Stricter(
        name="spot price of 0",
        cluster=with_resource(queue={"capacity_type": CapacityType.SPOT}, spot_price=0),
        code=Code.PC_SPOT_PRICE,
        why="no instance is sold for nothing",
    ),
    Stricter(
        name="allocation strategy of a single type",
        cluster=with_queue(allocation_strategy=AllocationStrategy.CAPACITY_OPTIMIZED),
        code=Code.PC_ALLOCATION,
        why="it is dropped, and refused as soon as a second type is added",
    ),
    Stricter(
        name="denied setting among others",
        cluster=with_slurm(custom_settings=({"MessageTimeout": 60, "GresTypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        why="a map of several settings is not looked into, and written all the same",
    ),
    Stricter(
        name="setting of accounting beside a slurmdbd",
        cluster=Cluster(
            accounting=SLURMDBD, slurm=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)).slurm
        ),
        code=Code.PC_SLURM_DENIED,
        why="ParallelCluster writes it for a slurmdbd too, and looks only where there is a database",
    ),
    Stricter(
        name="remote desktop on port 70000",
        cluster=with_head(dcv=Dcv(port=70000, allowed_ips="203.0.113.0/24")),
        code=Code.PC_DCV,
        why="there is no such port: the security group fails at deployment",
    ),
    Stricter(
        name="remote desktop on SSH's port",
        cluster=with_head(dcv=Dcv(port=22, allowed_ips="203.0.113.0/24")),
        code=Code.PC_DCV,
        why="SSH holds the port",
    ),
    Stricter(
        name="reservation id of another form",
        cluster=with_resource(capacity_reservation=CapacityReservation(reservation_id="reservation-1")),
        code=Code.PC_RESERVATION,
        why="only EC2 says that it is none",
    ),
    Stricter(
        name="reservation told by nothing",
        cluster=with_resource(capacity_reservation=CapacityReservation()),
        code=Code.PC_RESERVATION,
        why="nothing is rendered, and the capacity that is paid for is not used",
    ),
    Stricter(
        name="mount directory within another",
        cluster=with_storage(Storage(name="a", mount_dir="/data"), Storage(name="b", mount_dir="/data/models")),
        code=Code.PC_MOUNT_OVERLAP,
        why="OverlappingMountDirValidator is handed names instead of directories (3.16.1)",
    ),
    Stricter(
        name="storage at the place of local disks",
        cluster=Cluster(queues=(NVME,), shared_storage=(Storage(mount_dir="/scratch"),)),
        code=Code.PC_MOUNT_OVERLAP,
        why="a warning of theirs; one hides the other",
    ),
    Stricter(
        name="storage name with a slash",
        cluster=with_storage(name="data/models"),
        code=Code.PC_STORAGE_NAME,
        why="names are taken for directories (3.16.1), and refused beside a storage called `data`",
    ),
    Stricter(
        name="EBS volume that exists together with a size",
        cluster=with_storage(kind=StorageKind.EBS, existing_id="vol-0123456789abcdef0", settings={"Size": 100}),
        code=Code.PC_STORAGE_EXISTING,
        why="the size is dropped",
    ),
    Stricter(
        name="throughput of gp2",
        cluster=with_storage(settings={"VolumeType": "gp2", "Throughput": 250}),
        code=Code.PC_EBS,
        why="EBS refuses it at deployment",
    ),
    Stricter(
        name="root volume smaller than the image",
        cluster=Cluster(head_node=Head(root_volume=RootVolume(size_gib=44))),
        code=Code.PC_ROOT_VOLUME,
        why="ParallelCluster asks EC2 for the image's size; here it is that of the release notes "
        "(assumption: parallelcluster-root-volume-of-notes)",
    ),
    Stricter(
        name="address of the head node that is no Elastic IP",
        cluster=with_head(elastic_ip="203.0.113.7"),
        code=Code.PC_RESOURCE_ID,
        why="only EC2 says that it is none",
    ),
)
