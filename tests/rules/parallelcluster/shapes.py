"""Clusters for tests of the rules, and functions that return their problems."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.problem import AnyCode, PathPart, Problem
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue
from llm_fleet.spec.slurm_database import Accounting
from llm_fleet.spec.spec import Spec

SUBNET = "subnet-0123456789abcdef0"
OTHER_SUBNET = "subnet-0123456789abcdef1"
RESERVATION = "cr-0123456789abcdef0"

_Part = TypeVar("_Part")


def changed(part: _Part, **changes: Any) -> _Part:
    """`part` with `changes`."""
    of = {name: getattr(part, name) for name in type(part).model_fields} if isinstance(part, Spec) else _fields(part)
    return type(part)(**{**of, **changes})


def _fields(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in fields(part)}


def Head(**changes: Any) -> HeadNode:
    good: dict[str, Any] = {"instance_type": "m5.2xlarge", "subnet": SUBNET, **changes}
    return HeadNode(**good)


def Resource(**changes: Any) -> ComputeResource:
    good: dict[str, Any] = {"name": "nodes", "instance_types": ("c5.4xlarge",), **changes}
    return ComputeResource(**good)


def Partition(**changes: Any) -> Queue:
    good: dict[str, Any] = {"name": "work", "resources": (Resource(),), "subnets": (SUBNET,), **changes}
    return Queue(**good)


def Pool(**changes: Any) -> LoginPool:
    good: dict[str, Any] = {"name": "users", "instance_type": "m5.large", "subnet": SUBNET, **changes}
    return LoginPool(**good)


def Storage(**changes: Any) -> SharedStorage:
    good: dict[str, Any] = {"name": "shared", "kind": StorageKind.EBS, "mount_dir": "/shared", **changes}
    return SharedStorage(**good)


def Database(**changes: Any) -> Accounting:
    good: dict[str, Any] = {
        "endpoint": "db.example.com",
        "password_secret": "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    }
    return Accounting(**{**good, **changes})


def Cluster(**changes: Any) -> PlacedParallelCluster:
    good: dict[str, Any] = {
        "cluster_name": "train",
        "region": "us-west-2",
        "version": "3.16.1",
        "os": "alinux2023",
        "head_node": Head(),
        "queues": (Partition(),),
    }
    return PlacedParallelCluster(**{**good, **changes})


TRN1 = Resource(name="trn1", instance_types=("trn1.32xlarge",), max_count=4)


def with_head(**changes: Any) -> PlacedParallelCluster:
    """A valid cluster with another head node."""
    return Cluster(head_node=Head(**changes))


def with_queue(**changes: Any) -> PlacedParallelCluster:
    """A valid cluster with another queue."""
    return Cluster(queues=(Partition(**changes),))


def with_resource(*, queue: Mapping[str, Any] | None = None, **changes: Any) -> PlacedParallelCluster:
    """A valid cluster with another compute resource, and with changes of its queue in `queue`."""
    return with_queue(resources=(Resource(**changes),), **(queue or {}))


def with_pool(**changes: Any) -> PlacedParallelCluster:
    """A valid cluster with a login pool."""
    return Cluster(login_pools=(Pool(**changes),))


def with_storage(*storages: SharedStorage, **changes: Any) -> PlacedParallelCluster:
    """A valid cluster with shared storage."""
    return Cluster(shared_storage=storages or (Storage(**changes),))


def with_slurm(**changes: Any) -> PlacedParallelCluster:
    """A valid cluster with other settings of Slurm."""
    return Cluster(slurm=SlurmSettings(**changes))


TOKEN = "${Token[TOKEN.123]}"
NUMBER_TOKEN: int = -1.8881545897087e289  # pyright: ignore[reportAssignmentType]
LIST_TOKEN = ("#{Token[TOKEN.124]}",)


def only(cluster: PlacedParallelCluster, code: Code, *path: PathPart) -> Problem:
    """Return the only problem of `cluster`, and assert its `code` and `path`."""
    problems = check_parallelcluster(cluster)
    assert [(problem.code, problem.path) for problem in problems] == [(code, path)]
    return problems[0]


def codes(cluster: PlacedParallelCluster) -> list[AnyCode]:
    """Return the codes of all problems, in order."""
    return [problem.code for problem in check_parallelcluster(cluster)]
