"""Remedies, and the form of every problem."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.problem import FleetError, PathPart
from llm_fleet.rules.terms import CapacityType, StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import CapacityReservation
from tests.agreement.parallelcluster.defect import Defect
from tests.agreement.parallelcluster.defects import DEFECTS
from tests.agreement.parallelcluster.stricter import STRICTER, Stricter
from tests.rules.findings import check_one
from tests.rules.parallelcluster.shapes import (
    OTHER_SUBNET,
    SUBNET,
    TRN1,
    Cluster,
    Head,
    Partition,
    Resource,
    Storage,
    with_head,
    with_pool,
    with_queue,
    with_resource,
    with_slurm,
    with_storage,
)

BLOCK: dict[str, Any] = {
    "instance_types": ("trn1.32xlarge",),
    "min_count": 0,
    "max_count": 4,
    "capacity_reservation": CapacityReservation(reservation_id="cr-0123456789abcdef0"),
}
AMD = Ec2InstanceType.of(
    "g9a.4xlarge",
    architecture="x86_64",
    vcpus=16,
    memory_gib=64,
    accelerator="gpu",
    accelerators=1,
    gpu_maker="amd",
)
"""A fictional type: in EC2's catalog, types with an equal number of GPUs have GPUs of one manufacturer."""
MODELS = Storage(name="models", mount_dir="/scratch/models")
SETTINGS = "shared_storage.shared.settings"
RESOURCE = "queues.work.compute_resources.nodes"


def lustre(**settings: Any) -> PlacedParallelCluster:
    """A valid cluster with a Lustre file system that ParallelCluster creates."""
    return with_storage(kind=StorageKind.FSX_LUSTRE, settings=settings)


@pytest.mark.parametrize(
    ("cluster", "code", "where", "said"),
    [
        *(
            (with_queue(name=name), Code.PC_NAME, f"queues.{name}.name", said)
            for name, *said in (
                ("q" * 26, "26 characters long, 1 too many", f"write `{'q' * 25}`"),
                ("Trn_1", "does not consist of lower-case letters", "write `trn-1`"),
                ("1st queue", "does not consist of lower-case letters", "write `st-queue`"),
                ("default", "is reserved:", "write `default-queue`"),
                ("", "does not consist of lower-case letters", "give the queue a name that begins with a letter"),
                ("___", "does not consist of lower-case letters", "give the queue a name that begins with a letter"),
                ("queue\n", "does not consist of lower-case letters", "write `queue`"),
            )
        ),
        # It leaves space for the hash.
        (
            Cluster(cluster_name="my cluster"),
            Code.PC_CLUSTER_NAME,
            "cluster_name",
            ["write `my-cluster`", "allowed: 1 to 51 "],
        ),
        *(
            (Cluster(scheduler=scheduler), Code.PC_SCHEDULER, "scheduler", said)
            for scheduler, *said in (
                ("pbs", "does not support the scheduler 'pbs'", "write `slurm`; in job scripts `#PBS` lines become"),
                (
                    "torque",
                    "does not support the scheduler 'torque' since 2.11.5",
                    "write `slurm`; in job scripts `#PBS` lines",
                ),
                ("sge", "does not support the scheduler 'sge' since 2.11.5", "write `slurm` and start jobs by sbatch"),
                (
                    "awsbatch",
                    "does not support the scheduler 'awsbatch' since 3.16.0",
                    "write `slurm` and start jobs by sbatch",
                ),
                ("Slurm", "does not support the scheduler 'Slurm'", "write `slurm`"),
            )
        ),
        *(
            (Cluster(os=os), Code.PC_OS, "os", said)
            for os, *said in (
                ("alinux2", "does not support alinux2 since 3.16.0", "write `alinux2023`"),
                ("ubuntu2004", "does not support ubuntu2004 since 3.14.0", "write `ubuntu2204`"),
                ("centos7", "does not support centos7 since 3.11.0", "write `rhel9`"),
                ("ubuntu22.04", "does not support the operating system 'ubuntu22.04'", "write `ubuntu2204`"),
                ("windows", "does not support the operating system 'windows'", "write `alinux2023`"),
            )
        ),
        *(
            (with_head(instance_type=name), code, "head_node.instance_type", said)
            for name, code, *said in (
                ("ml.m5.xlarge", Code.PC_INSTANCE_TYPE_PREFIX, "write `m5.xlarge`"),
                ("m5.xlarg", Code.PC_INSTANCE_TYPE, "write `m5.xlarge`"),
                ("m5.2xl", Code.PC_INSTANCE_TYPE, "write `m5.2xlarge`"),
                ("M5.Xlarge", Code.PC_INSTANCE_TYPE, "write `m5.xlarge`"),
                ("quantum", Code.PC_INSTANCE_TYPE, "write the name of an EC2 instance type,"),
                ("g4ad.xlarge", Code.PC_INSTANCE_TYPE, "is unknown", "or Ec2InstanceType.of("),
            )
        ),
        (
            with_resource(instance_types=("trn1.2xlarge",), efa=True),
            Code.PC_EFA_TYPE,
            f"{RESOURCE}.efa",
            ["`trn1.32xlarge`"],
        ),
        (
            with_resource(queue={"capacity_type": CapacityType.CAPACITY_BLOCK}, **BLOCK),
            Code.PC_CAPACITY_BLOCK_COUNT,
            f"{RESOURCE}.min_count",
            ["write 4 for both"],
        ),
        *(
            (
                lustre(StorageCapacity=size),
                Code.PC_FSX_CAPACITY,
                "shared_storage.shared.settings.StorageCapacity",
                [said],
            )
            for size, said in {
                5000: "write 4800 GiB or 7200 GiB",
                100: "write 1200 GiB",
                1201: "write 1200 GiB or 2400 GiB",
            }.items()
        ),
        (
            lustre(StorageCapacity=4800, DeploymentType="PERSISTENT_2", PerUnitStorageThroughput=300),
            Code.PC_FSX_THROUGHPUT,
            f"{SETTINGS}.PerUnitStorageThroughput",
            ["allowed: 125, 250, 500 or 1000 MB/s/TiB", "write 250 MB/s/TiB or 500 MB/s/TiB"],
        ),
        *(
            (
                with_slurm(custom_settings=({setting: "x"},)),
                Code.PC_SLURM_DENIED,
                f"slurm.custom_settings[0].{setting}",
                [said],
            )
            for setting, said in {
                "GresTypes": "give jobs whole nodes by `exclusive`",
                "gReStYpEs": "give jobs whole nodes by `exclusive`",
                "Prolog": "/opt/slurm/etc/scripts/prolog.d",
                "Epilog": "/opt/slurm/etc/scripts/epilog.d",
                "SuspendTime": "scaledown_idletime_minutes",
                "TreeWidth": "remove it",
            }.items()
        ),
        # It is reported at the later storage.
        (
            with_storage(Storage(name="a", mount_dir="/data"), Storage(name="b", mount_dir="/data/models")),
            Code.PC_MOUNT_OVERLAP,
            "shared_storage.b.mount_dir",
            ["'a'"],
        ),
        (
            with_storage(Storage(name="a", mount_dir="data"), Storage(name="b", mount_dir="/data")),
            Code.PC_MOUNT_OVERLAP,
            "shared_storage.b.mount_dir",
            ["given:   '/data'"],
        ),
        # Local disks are mounted at /scratch by default.
        (
            Cluster(queues=(Partition(resources=(TRN1,)),), shared_storage=(MODELS,)),
            Code.PC_MOUNT_OVERLAP,
            "shared_storage.models.mount_dir",
            ["the local disks of queue 'work'"],
        ),
        (
            Cluster(head_node=Head(instance_type="t3.medium"), queues=with_resource(max_count=100).queues),
            Code.PC_HEAD_MEMORY,
            "head_node.instance_type",
            ["t3.medium has 4 GiB of memory, but a head node for 100 nodes requires 4.6 GiB"],
        ),
        (
            with_queue(resources=(TRN1, Resource()), assign_public_ip=True),
            Code.PC_PUBLIC_ADDRESS,
            "queues.work.assign_public_ip",
            ["\n  trn1.32xlarge has several"],
        ),
        *(
            (with_pool(allowed_ips=given), Code.PC_ALLOWED_IPS, "login_pools.users.allowed_ips", [said])
            for given, said in {
                "10.0.0.1": "write `10.0.0.1/32` for this address alone",
                "everyone": "write e.g. `203.0.113.0/24`",
            }.items()
        ),
        (
            with_resource(instance_types=("g5.4xlarge", AMD)),
            Code.PC_MIXED_TYPES,
            f"{RESOURCE}.instance_types",
            ["g9a.4xlarge has 1 amd GPUs"],
        ),
    ],
)
def test_the_remedy(cluster: PlacedParallelCluster, code: Code, where: str, said: list[str]):
    check_one(check_parallelcluster(cluster), code, where, *said)


@pytest.mark.parametrize(
    "good",
    [
        *(with_queue(name=name) for name in ("q" * 25, "trn-1", "st-queue", "default-queue", "queue")),
        with_resource(instance_types=("trn1.32xlarge",), efa=True),
        with_slurm(custom_settings=({"NodeName": "site-1", "State": "CLOUD", "Gres": "x"},)),
        Cluster(shared_storage=(MODELS,)),
        Cluster(
            queues=(Partition(resources=(TRN1,), scratch_mount_dir="/local_scratch"),),
            shared_storage=(MODELS,),
        ),
        *(with_pool(allowed_ips=good) for good in ("0.0.0.0/0", "10.0.0.0/16", "pl-0123456789abcdef0")),
    ],
)
def test_a_cluster_is_valid_after_the_remedy(good: PlacedParallelCluster):
    assert check_parallelcluster(good) == []


def test_an_old_version_and_an_old_system_are_reported_together():
    found = check_parallelcluster(Cluster(version="3.12.0", os="alinux2"))
    assert [problem.code for problem in found] == [Code.PC_VERSION, Code.PC_OS]
    assert "of ParallelCluster 3.12 differ from" in found[0].message


def test_instance_types_in_one_text_are_reported_once():
    with pytest.raises(FleetError) as caught:
        Resource(instance_types="c5.large")
    check_one(caught.value.problems, Code.WRONG_TYPE, "instance_types", "write a tuple")


def test_all_problems_are_reported_together():
    cluster = Cluster(
        scheduler="pbs",
        os="alinux2",
        queues=(
            Partition(name="q" * 26, resources=(Resource(name="a", instance_types=("trn1.2xlarge",), efa=True),)),
            Partition(name="b", subnets=(SUBNET, OTHER_SUBNET), resources=(TRN1,)),
        ),
        shared_storage=(Storage(kind=StorageKind.FSX_LUSTRE, settings={"StorageCapacity": 5000}),),
    )
    assert {problem.code for problem in check_parallelcluster(cluster)} == {
        Code.PC_SCHEDULER,
        Code.PC_OS,
        Code.PC_FSX_SUBNETS,
        Code.PC_NAME,
        Code.PC_EFA_TYPE,
        Code.PC_EFA_SUBNETS,
        Code.PC_FSX_CAPACITY,
    }


@pytest.mark.parametrize("defect", [*DEFECTS, *STRICTER], ids=str)
def test_each_problem_has_a_message_a_remedy_and_an_existing_path(defect: Defect | Stricter):
    problems = check_parallelcluster(defect.cluster)
    assert {problem.code for problem in problems} == {defect.code}
    for problem in problems:
        assert problem.message
        assert problem.remedy
        assert not problem.message.endswith(".")
        assert not problem.remedy.endswith(".")
        assert "  " not in problem.message
        assert _exists(defect.cluster, problem.path), problem.path


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_the_similar_cluster_is_valid(defect: Defect):
    assert [str(problem) for problem in check_parallelcluster(defect.good)] == []


def _exists(place: Any, path: tuple[PathPart, ...]) -> bool:
    """Return whether `path` leads from `place` by attributes, names of items and keys to an existing value."""
    if not path:
        return True
    first, rest = path[0], path[1:]
    if isinstance(place, Mapping):
        return (first in place and _exists(place[first], rest)) or not rest
    if isinstance(place, list | tuple):
        named = [item for item in place if getattr(item, "name", None) == first]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(first, int):
            return _exists(place[first], rest)
        return any(_exists(item, rest) for item in named)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if place is None:
        return not rest
    return hasattr(place, str(first)) and _exists(getattr(place, str(first)), rest)
