"""Instance types of a cluster: that they exist, and that the image runs on them."""

import re

from llm_fleet.catalog.ec2_instances import ec2_facts_of, ec2_instance, ec2_instance_names
from llm_fleet.catalog.parallelcluster import families_without_drivers, unsupported_oses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource

_PREFIX = "ml."


def check_type(name: str, *path: PathPart) -> list[Problem]:
    """Check that EC2 has `name` (InstanceTypeValidator). One made by `Ec2InstanceType.of` passes."""
    if is_unresolved(name) or ec2_facts_of(name) is not None:
        return []
    bare = name.strip().removeprefix(_PREFIX)
    if name.strip() != bare and ec2_instance(bare) is not None:
        return [
            Problem(
                code=Code.PC_INSTANCE_TYPE_PREFIX,
                message="this is SageMaker's name of the instance type; EC2's has no 'ml.'",
                remedy=f"write {bare!r}",
                path=path,
                value=name,
            )
        ]
    offer = nearest_ec2_type(name)
    newer = "Ec2InstanceType.of(…), in Python, for one that this release of llm-fleet does not know"
    family = bare.casefold().partition(".")[0]
    return [
        Problem(
            code=Code.PC_INSTANCE_TYPE,
            message="no instance type of EC2's is known by this name",
            remedy=f"write {offer!r}, or {newer}" if offer else f"write a name as EC2 does, or {newer}",
            path=path,
            value=name,
            allowed=", ".join(f"{family}.{size}" for size in _sizes_of(family)),
        )
    ]


def check_resource_types(resource: ComputeResource) -> list[Problem]:
    """Check that a compute resource has instance types of EC2's, or takes that of its reservation."""
    if is_unresolved(resource.types):
        return []
    if not resource.types:
        reservation = resource.capacity_reservation
        if reservation is not None and reservation.reservation_id is not None:
            return []
        return [
            Problem(
                code=Code.PC_INSTANCE_TYPE,
                message="there is neither an instance type nor a capacity reservation that could tell one",
                remedy="write an instance type, e.g. 'trn1.32xlarge', or give the compute resource itself the id of "
                "a reservation (that of its queue is not looked at)",
                path=("instance_types",),
            )
        ]
    return [
        problem for index, name in enumerate(resource.types) for problem in check_type(name, "instance_types", index)
    ]


def check_types_run(cluster: ClusterShape) -> list[Problem]:
    """Check that the cluster's image runs on every instance type that is known."""
    head = cluster.head_node
    return [
        *_check_runs(cluster, head.instance_type, head.image_id, "head_node", "instance_type"),
        *(
            problem
            for pool in cluster.login_pools
            for problem in _check_runs(
                cluster, pool.instance_type, pool.image_id, "login_pools", pool.name, "instance_type"
            )
        ),
        *(
            problem
            for queue in cluster.queues
            for resource in queue.compute_resources
            for index, name in enumerate(resource.types)
            for problem in _check_runs(
                cluster,
                name,
                queue.image_id,
                *("queues", queue.name, "compute_resources", resource.name, "instance_types", index),
            )
        ),
    ]


def nearest_ec2_type(name: str) -> str | None:
    """Return the type that `name` is most likely meant to be: its family first, then its size."""
    family, dot, size = name.strip().casefold().removeprefix(_PREFIX).partition(".")
    families = {known.partition(".")[0] for known in ec2_instance_names()}
    near_family = family if family in families else nearest(family, families)
    if not dot or near_family is None:  # a like size of an unlike family would mislead
        return nearest(f"{family}.{size}" if dot else family, ec2_instance_names())
    near_size = nearest(re.sub(r"xl$", "xlarge", size), _sizes_of(near_family))
    return f"{near_family}.{near_size}" if near_size else None


def _sizes_of(family: str) -> list[str]:
    """The sizes of `family`, smallest first."""
    known = [facts for name in ec2_instance_names() if name.startswith(f"{family}.") and (facts := ec2_instance(name))]
    return [facts.name.partition(".")[2] for facts in sorted(known, key=lambda facts: facts.vcpus)]


def _check_runs(cluster: ClusterShape, name: str, image_id: str | None, *path: PathPart) -> list[Problem]:
    if is_unresolved((name, cluster.os)):
        return []
    family = name.partition(".")[0]
    own_image = image_id is not None or cluster.image_id is not None
    if family in families_without_drivers() and not own_image:
        return [
            Problem(
                code=Code.PC_INSTANCE_OS,
                message=f"the NVIDIA driver of ParallelCluster's images does not know the GPUs of {family}",
                remedy="take a newer GPU, e.g. 'g5.xlarge', or give the image_id of one with the closed driver",
                path=path,
                value=name,
            )
        ]
    refused = unsupported_oses().get(family, ())
    if cluster.os not in refused:
        return []
    return [
        Problem(
            code=Code.PC_INSTANCE_OS,
            message=f"{family} does not run {cluster.os}",
            remedy="write 'alinux2023' as the cluster's os",
            path=path,
            value=name,
            allowed=f"any operating system but {', '.join(refused)}",
        )
    ]
