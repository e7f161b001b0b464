"""Errors in compute resources: instance types, EFA, numbers, volumes."""

from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import CapacityType
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import (
    OTHER_SUBNET,
    RESERVATION,
    SUBNET,
    Cluster,
    Head,
    Resource,
    with_queue,
    with_resource,
)

BLOCK = {"capacity_type": CapacityType.CAPACITY_BLOCK}
RESERVED = CapacityReservation(reservation_id=RESERVATION)
TWO_SUBNETS = {"subnets": (SUBNET, OTHER_SUBNET)}
FLEXIBLE = ("c5.4xlarge", "c5d.4xlarge")


def _block(**changes: Any) -> PlacedParallelCluster:
    values = {"instance_types": ("trn1.32xlarge",), "min_count": 4, "max_count": 4, "capacity_reservation": RESERVED}
    return with_resource(queue=BLOCK, **{**values, **changes})


INSTANCES = (
    Defect(
        name="type of a compute resource that EC2 does not have",
        cluster=with_resource(instance_types=("trn1.33xlarge",)),
        code=Code.PC_INSTANCE_TYPE,
        validator="ConfigValidationError",
        good=with_resource(instance_types=("trn1.32xlarge",)),
    ),
    Defect(
        name="SageMaker's name of an instance type",
        cluster=with_resource(instance_types=("ml.trn1.32xlarge",)),
        code=Code.PC_INSTANCE_TYPE_PREFIX,
        validator="ConfigValidationError",
    ),
    Defect(
        name="compute resource without a type",
        cluster=with_resource(instance_types=()),
        code=Code.PC_INSTANCE_TYPE,
        validator=SCHEMA,
        good=_block(instance_types=()),
    ),
    Defect(
        name="arm head node with an x86 queue",
        cluster=Cluster(head_node=Head(instance_type="m7g.2xlarge"), queues=with_resource().queues),
        code=Code.PC_ARCHITECTURE,
        validator="InstanceArchitectureCompatibilityValidator",
        good=Cluster(
            head_node=Head(instance_type="m7g.2xlarge"), queues=with_resource(instance_types=("c7g.4xlarge",)).queues
        ),
    ),
    Defect(
        name="x86 head node with an arm queue",
        cluster=with_resource(instance_types=("c7g.4xlarge",)),
        code=Code.PC_ARCHITECTURE,
        validator="InstanceArchitectureCompatibilityValidator",
    ),
    Defect(
        name="GPU that the driver of the AMI does not support",
        cluster=with_resource(instance_types=("p3dn.24xlarge",)),
        code=Code.PC_INSTANCE_OS,
        validator="InstanceTypeBaseAMICompatibleValidator",
        good=with_queue(resources=(Resource(instance_types=("p3dn.24xlarge",)),), image_id="ami-0123456789abcdef0"),
    ),
)
MIXED = (
    Defect(
        name="types of different numbers of CPUs",
        cluster=with_resource(instance_types=("c5.4xlarge", "c5.9xlarge")),
        code=Code.PC_MIXED_TYPES,
        validator="InstancesCPUValidator",
        good=with_resource(instance_types=FLEXIBLE),
    ),
    Defect(
        name="types of different numbers of cores with hyper-threading off",
        cluster=with_resource(instance_types=("c5.4xlarge", "c7a.4xlarge"), hyperthreading=False),
        code=Code.PC_MIXED_TYPES,
        validator="InstancesCPUValidator",
        said="cores",
        good=with_resource(instance_types=("c5.4xlarge", "c7a.4xlarge")),
    ),
    Defect(
        name="types with and without GPUs",
        cluster=with_resource(instance_types=("c5.4xlarge", "g5.4xlarge")),
        code=Code.PC_MIXED_TYPES,
        validator="InstancesAcceleratorsValidator",
        good=with_resource(instance_types=("g4dn.4xlarge", "g5.4xlarge")),
    ),
    Defect(
        name="type named twice",
        cluster=with_resource(instance_types=("c5.4xlarge", "c5.4xlarge")),
        code=Code.PC_MIXED_TYPES,
        validator=SCHEMA,
    ),
)
EFA = (
    Defect(
        name="EFA on trn1.2xlarge",
        cluster=with_resource(instance_types=("trn1.2xlarge",), efa=True),
        code=Code.PC_EFA_TYPE,
        validator="EfaValidator",
        good=with_resource(instance_types=("trn1.32xlarge",), efa=True),
    ),
    Defect(
        name="EFA on one of two types",
        cluster=with_resource(instance_types=("c5n.18xlarge", "c5.18xlarge"), efa=True),
        code=Code.PC_EFA_TYPE,
        validator="InstancesEFAValidator",
        good=with_resource(instance_types=("c5n.18xlarge", "c5.18xlarge")),
    ),
    Defect(
        name="GPUDirect without EFA",
        cluster=with_resource(overrides={"Efa": {"GdrSupport": True}}),
        code=Code.PC_EFA_TYPE,
        validator="EfaValidator",
        said="GDR",
    ),
    Defect(
        name="EFA over two subnets",
        cluster=with_resource(queue=TWO_SUBNETS, instance_types=("m5n.24xlarge", "m5dn.24xlarge"), efa=True),
        code=Code.PC_EFA_SUBNETS,
        validator="EfaMultiAzValidator",
        good=with_resource(queue=TWO_SUBNETS, instance_types=("m5n.24xlarge", "m5dn.24xlarge"), efa=False),
    ),
)
COUNTS = (
    Defect(
        name="a minimum above the maximum",
        cluster=with_resource(min_count=5, max_count=4),
        code=Code.PC_NODE_COUNT,
        validator="ComputeResourceSizeValidator",
        good=with_resource(min_count=4, max_count=4),
    ),
    Defect(
        name="at most 0 nodes",
        cluster=with_resource(max_count=0),
        code=Code.PC_NODE_COUNT,
        validator=SCHEMA,
        good=with_resource(max_count=1),
    ),
    Defect(
        name="-1 nodes",
        cluster=with_resource(min_count=-1),
        code=Code.PC_NODE_COUNT,
        validator=SCHEMA,
    ),
    Defect(
        name="priority 0",
        cluster=with_resource(static_node_priority=0),
        code=Code.PC_NODE_PRIORITY,
        validator=SCHEMA,
        good=with_resource(static_node_priority=1, dynamic_node_priority=4294967295),
    ),
    Defect(
        name="more memory than the instance has",
        cluster=with_resource(schedulable_memory_mib=32769),
        code=Code.PC_SCHEDULABLE_MEMORY,
        validator="SchedulableMemoryValidator",
        good=with_resource(schedulable_memory_mib=32768),
    ),
    Defect(
        name="less than a MiB of memory",
        cluster=with_resource(schedulable_memory_mib=0),
        code=Code.PC_SCHEDULABLE_MEMORY,
        validator="SchedulableMemoryValidator",
        said="at least 1 MiB",
    ),
    Defect(
        name="root volume of a queue with too many IOPS",
        cluster=with_queue(root_volume=RootVolume(size_gib=100, volume_type="gp3", iops=16001)),
        code=Code.PC_ROOT_VOLUME,
        validator="EbsVolumeIopsValidator",
        good=with_queue(root_volume=RootVolume(size_gib=100, volume_type="gp3", iops=16000, throughput_mib_s=1000)),
    ),
    Defect(
        name="root volume larger than EBS has",
        cluster=with_queue(root_volume=RootVolume(size_gib=16385)),
        code=Code.PC_ROOT_VOLUME,
        validator="EbsVolumeTypeSizeValidator",
        good=with_queue(root_volume=RootVolume(size_gib=16384)),
    ),
)
DEFECTS = (*INSTANCES, *MIXED, *EFA, *COUNTS)
