"""Clusters for the tests: small ones, and one with every attribute set."""

from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.render_configuration import Hooks, NodeHooks, NodePolicies, NodeScript
from llm_fleet.rules.terms import AllocationStrategy, CapacityType, InternalStorage
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import Dcv, HeadNode, LoginPool, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue

SUBNET = "subnet-0123456789abcdef0"
OTHER_SUBNET = "subnet-0123456789abcdef1"
GROUP = "sg-0123456789abcdef0"
IMAGE = "ami-0123456789abcdef0"
RESERVATION = "cr-0123456789abcdef0"
POLICY = "arn:aws:iam::111122223333:policy/parallelcluster-train-nodes"
SCRIPT = NodeScript(script="s3://scripts/train/on_node_configured.sh", args=["s3://scripts/train/current", "HeadNode"])
HOOKS = Hooks(
    head_node=NodeHooks(on_node_configured=SCRIPT, on_node_updated=SCRIPT),
    queues={"work": SCRIPT},
    login_pools={"users": NodeHooks(on_node_configured=SCRIPT, on_node_updated=SCRIPT)},
)
POLICIES = NodePolicies(head_node=[POLICY], queues={"work": [POLICY]}, login_pools={"users": [POLICY]})


@cache
def subnet(subnet_id: str = SUBNET) -> ec2.ISubnet:
    """A subnet by its id."""
    return ec2.Subnet.from_subnet_id(cdk.Stack(), "Subnet", subnet_id)


@cache
def group() -> ec2.ISecurityGroup:
    """A security group by its id."""
    return ec2.SecurityGroup.from_security_group_id(cdk.Stack(), "Group", GROUP)


def cluster(*queues: Queue, **attributes: Any) -> PlacedParallelCluster:
    """A cluster of `queues` with only the required settings."""
    defaults: dict[str, Any] = {
        "cluster_name": "train",
        "region": "us-west-2",
        "version": "3.16.1",
        "os": "alinux2023",
        "image_id": None,
        "scheduler": "slurm",
        "head_node": HeadNode(instance_type="m5.2xlarge", subnet=subnet()),
        "login_pools": (),
        "shared_storage": (),
        "slurm": SlurmSettings(),
        "accounting": None,
        "detailed_monitoring": False,
        "log_retention_days": 180,
        "tags": {},
        "overrides": {},
    }
    return PlacedParallelCluster(queues=queues, **{**defaults, **attributes})


def cluster_of_everything(**attributes: Any) -> PlacedParallelCluster:
    """A cluster with all attributes that do not exclude each other."""
    volume = RootVolume(size_gib=200, volume_type="gp3", iops=4000, throughput_mib_s=250, encrypted=True)
    resource = ComputeResource(
        name="nodes",
        instance_types=["c5.4xlarge"],
        min_count=1,
        max_count=4,
        efa=False,
        placement_group=PlacementGroup.named("close"),
        hyperthreading=False,
        schedulable_memory_mib=30000,
        capacity_reservation=CapacityReservation.id(RESERVATION),
        gpu_health_check=False,
        custom_slurm_settings={"Features": "fast"},
        tags={"Cost": "nodes"},
        static_node_priority=2,
        dynamic_node_priority=2000,
    )
    several = ComputeResource(name="several", instance_types=["c5.4xlarge", "c5d.4xlarge"], spot_price=1.5)
    spot = Queue(name="spot", resources=[several], capacity_type=CapacityType.SPOT, subnets=[subnet()])
    queue = Queue(
        name="work",
        resources=[resource],
        capacity_type=CapacityType.ONDEMAND,
        allocation_strategy=AllocationStrategy.LOWEST_PRICE,
        subnets=[subnet()],
        security_groups=[group()],
        assign_public_ip=False,
        placement_group=PlacementGroup.none(),
        exclusive=True,
        root_volume=volume,
        scratch_mount_dir="/local_scratch",
        capacity_reservation=CapacityReservation.id(RESERVATION),
        image_id=IMAGE,
        gpu_health_check=False,
        custom_slurm_settings={"GraceTime": 60},
        tags={"Cost": "work"},
    )
    head = HeadNode(
        instance_type="m5.2xlarge",
        subnet=subnet(),
        elastic_ip=True,
        security_groups=[group()],
        key_name="key",
        allowed_ips="10.0.0.0/16",
        root_volume=volume,
        scratch_mount_dir="/scratch",
        hyperthreading=False,
        internal_storage=InternalStorage.EFS,
        image_id=IMAGE,
        dcv=Dcv(port=8443, allowed_ips="10.0.0.0/16"),
    )
    pool = LoginPool(
        name="users",
        instance_type="m5.large",
        count=2,
        subnet=subnet(OTHER_SUBNET),
        security_groups=[group()],
        gracetime_minutes=5,
        allowed_ips="10.0.0.0/16",
        image_id=IMAGE,
        dcv=Dcv(port=8443, allowed_ips="10.0.0.0/16"),
    )
    slurm = SlurmSettings(
        scaledown_idletime_minutes=60, memory_based_scheduling=True, custom_settings=[{"MaxJobCount": 5000}]
    )
    defaults: dict[str, Any] = {
        "image_id": IMAGE,
        "head_node": head,
        "login_pools": [pool],
        "shared_storage": [
            SharedStorage.lustre("fsx", file_system_id="fs-0123456789abcdef0"),
            SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0"),
        ],
        "slurm": slurm,
        "detailed_monitoring": True,
        "log_retention_days": 30,
        "tags": {"Project": "llama"},
    }
    return cluster(queue, spot, **{**defaults, **attributes})
