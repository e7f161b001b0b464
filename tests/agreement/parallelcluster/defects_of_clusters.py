"""Errors in a cluster's name, numbers, tags, version and operating system."""

from llm_fleet.rules.codes import Code
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import (
    Cluster,
    Database,
    Head,
    Partition,
    Pool,
    Resource,
    with_pool,
    with_queue,
    with_resource,
    with_slurm,
)

OWN_DOMAIN = {"Dns": {"DisableManagedDns": True}}
"""Host names of nodes then do not contain the cluster's name, which can have ParallelCluster's maximum length."""
SLURM_WITH_OWN_DOMAIN = with_slurm(overrides=OWN_DOMAIN).slurm
IMAGE = "ami-0123456789abcdef0"


def _queues(number: int, each: int = 1) -> PlacedParallelCluster:
    resources = tuple(Resource(name=f"r{index}", max_count=1) for index in range(each))
    return Cluster(queues=tuple(Partition(name=f"q{index}", resources=resources) for index in range(number)))


def _named(length: int, **attributes: object) -> PlacedParallelCluster:
    return Cluster(cluster_name="a" * length, slurm=SLURM_WITH_OWN_DOMAIN, **attributes)  # pyright: ignore[reportArgumentType]


def _tagged(of_cluster: int, of_queue: int, of_resource: int) -> PlacedParallelCluster:
    return Cluster(
        tags={f"c{index}": "x" for index in range(of_cluster)},
        queues=(
            Partition(
                tags={f"q{index}": "x" for index in range(of_queue)},
                resources=(Resource(tags={f"r{index}": "x" for index in range(of_resource)}),),
            ),
        ),
    )


NAMES = (
    Defect(
        name="cluster name of 52 and 9 characters",
        cluster=_named(52),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        good=_named(51),
    ),
    Defect(
        name="cluster name of 32 and 9 characters with accounting",
        cluster=_named(32, accounting=Database()),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        said="Slurm accounting",
        good=_named(31, accounting=Database()),
    ),
    Defect(
        name="cluster name with an underscore",
        cluster=Cluster(cluster_name="my_cluster"),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        good=Cluster(cluster_name="My-Cluster-2"),
    ),
    Defect(
        name="queue name of 26 characters",
        cluster=with_queue(name="q" * 26),
        code=Code.PC_NAME,
        validator="NameValidator",
        said="at most 25",
        good=with_queue(name="q" * 25),
    ),
    Defect(
        name="queue called default",
        cluster=with_queue(name="default"),
        code=Code.PC_NAME,
        validator="NameValidator",
        said="forbidden",
        good=with_queue(name="default-1"),
    ),
    Defect(
        name="compute resource in upper case",
        cluster=with_resource(name="Nodes"),
        code=Code.PC_NAME,
        validator="NameValidator",
        good=with_resource(name="nodes-1"),
    ),
    Defect(
        name="login pool that begins with a digit",
        cluster=with_pool(name="1users"),
        code=Code.PC_NAME,
        validator="NameValidator",
        good=with_pool(name="u1"),
    ),
    Defect(
        name="two queues of one name",
        cluster=Cluster(queues=(Partition(), Partition())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=Cluster(queues=(Partition(), Partition(name="other"))),
    ),
    Defect(
        name="two compute resources of one name",
        cluster=with_queue(resources=(Resource(), Resource())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=with_queue(resources=(Resource(), Resource(name="other"))),
    ),
    Defect(
        name="two login pools of one name",
        cluster=Cluster(login_pools=(Pool(), Pool())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=Cluster(login_pools=(Pool(), Pool(name="other"))),
    ),
)
NUMBERS = (
    Defect(
        name="51 queues",
        cluster=_queues(51),
        code=Code.PC_QUEUE_NUMBER,
        validator="MaxCountValidator",
        said="SlurmQueues",
        good=_queues(50),
    ),
    Defect(
        name="51 compute resources in one queue",
        cluster=_queues(1, 51),
        code=Code.PC_RESOURCE_NUMBER,
        validator="MaxCountValidator",
        said="ComputeResources per Queue",
        good=_queues(1, 50),
    ),
    Defect(
        name="52 compute resources in two queues",
        cluster=_queues(2, 26),
        code=Code.PC_RESOURCE_NUMBER,
        validator="MaxCountValidator",
        said="ComputeResources per Cluster",
        good=_queues(2, 25),
    ),
    Defect(
        name="11 login pools",
        cluster=Cluster(login_pools=tuple(Pool(name=f"p{index}") for index in range(11))),
        code=Code.PC_POOL_NUMBER,
        validator="MaxCountValidator",
        said="LoginNodePools",
        good=Cluster(login_pools=tuple(Pool(name=f"p{index}") for index in range(10))),
    ),
    Defect(
        name="41 tags that meet on a node",
        cluster=_tagged(15, 15, 11),
        code=Code.PC_TAGS,
        validator="ComputeResourceTagsValidator",
        good=_tagged(15, 15, 9),
    ),
    Defect(
        name="tag of ParallelCluster's own",
        cluster=Cluster(tags={"parallelcluster:owner": "me"}),
        code=Code.PC_TAGS,
        validator=SCHEMA,
        good=Cluster(tags={"owner": "me"}),
    ),
    Defect(
        name="tag key of 129 characters",
        cluster=Cluster(tags={"k" * 129: "me"}),
        code=Code.PC_TAGS,
        validator=SCHEMA,
        good=Cluster(tags={"k" * 128: "v" * 256}),
    ),
    Defect(
        name="head node with too little memory for its nodes",
        cluster=Cluster(head_node=Head(instance_type="c5.xlarge"), queues=with_resource(max_count=186).queues),
        code=Code.PC_HEAD_MEMORY,
        validator="HeadNodeMemorySizeValidator",
        good=Cluster(head_node=Head(instance_type="c5.xlarge"), queues=with_resource(max_count=185).queues),
    ),
)
RELEASE = (
    Defect(
        name="alinux2",
        cluster=Cluster(os="alinux2"),
        code=Code.PC_OS,
        validator=SCHEMA,
        good=Cluster(os="ubuntu2404"),
    ),
    Defect(name="pbs", cluster=Cluster(scheduler="pbs"), code=Code.PC_SCHEDULER, validator=SCHEMA),
    Defect(name="awsbatch", cluster=Cluster(scheduler="awsbatch"), code=Code.PC_SCHEDULER, validator=SCHEMA),
    Defect(
        name="rocky9 without an image",
        cluster=Cluster(os="rocky9"),
        code=Code.PC_IMAGE,
        validator="OsCustomAmiValidator",
        good=Cluster(os="rocky9", image_id=IMAGE),
    ),
    Defect(
        name="invalid AMI id",
        cluster=Cluster(image_id="ami-latest"),
        code=Code.PC_IMAGE,
        validator=SCHEMA,
        good=Cluster(image_id=IMAGE),
    ),
    Defect(
        name="region without ParallelCluster",
        cluster=Cluster(region="ca-west-1"),
        code=Code.PC_REGION,
        validator="RegionValidator",
    ),
)
DEFECTS = (*NAMES, *NUMBERS, *RELEASE)
