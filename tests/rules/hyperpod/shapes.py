"""A valid cluster; a test makes one of its values invalid."""

from typing import Any

from llm_fleet.spec.cluster import NodeMount
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"


def database(**changes: Any) -> AccountingDatabase:
    """A valid database for HyperPod, with `changes`."""
    given: dict[str, Any] = {"endpoint": "slurm.cluster-abc.us-west-2.rds.amazonaws.com", "secret": SECRET}
    return AccountingDatabase(**given | changes)


SCRIPT = "on_init_complete.sh"
CONTROLLER = InstanceGroup.controller("ml.m5.xlarge", name="controller-group", on_init_complete=SCRIPT)
LOGIN = InstanceGroup.login("ml.m5.xlarge", name="login-group", on_init_complete=SCRIPT)
WORKERS = InstanceGroup.workers("worker-group", "ml.trn1.32xlarge", count=4, partition="trn1", on_init_complete=SCRIPT)


LUSTRE = NodeMount(kind="lustre", mount_path="/fsx", availability_zone_id="usw2-az4")
HOME = NodeMount(kind="open_zfs", mount_path="/home", availability_zone_id="usw2-az4")


def cluster(*groups: InstanceGroup, **changes: Any) -> PlacedCluster:
    """The launch post's cluster, or one of `groups`, with `changes`."""
    of_spec: dict[str, Any] = {
        "groups": groups or (CONTROLLER, WORKERS),
        "cluster_name": "ml-cluster",
        "availability_zone_id": "usw2-az4",
        "tags": {"team": "research"},
    }
    of_spec |= {name: changes.pop(name) for name in HyperPodClusterSpec.model_fields if name in changes}
    given: dict[str, Any] = {
        "region": "us-west-2",
        "account": "111122223333",
        "subnet_ids": ("subnet-0123456789abcdef0",),
        "security_group_ids": ("sg-0123456789abcdef0",),
        "mounts": (LUSTRE,),
        "lifecycle_source_s3_uri": "s3://sagemaker-ml-cluster/abc/",
        **changes,
    }
    return PlacedCluster(spec=HyperPodClusterSpec(**of_spec), **given)


def changed(group: InstanceGroup, **changes: Any) -> InstanceGroup:
    """`group` with `changes`."""
    return InstanceGroup(**{**group.__dict__, **changes})


def cluster_with(**changes: Any) -> PlacedCluster:
    """The launch post's cluster with `changes` in its group of workers."""
    return cluster(CONTROLLER, changed(WORKERS, **changes))
