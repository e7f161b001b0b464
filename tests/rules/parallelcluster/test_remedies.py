"""What a user is advised to write, and that every problem is reported well."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.problem import FleetError, PathPart
from llm_fleet.rules.terms import CapacityType, StorageKind
from llm_fleet.spec.parallelcluster_queue import CapacityReservation
from tests.agreement.parallelcluster.defect import Defect
from tests.agreement.parallelcluster.defects import DEFECTS
from tests.agreement.parallelcluster.stricter import STRICTER, Stricter
from tests.rules.parallelcluster.shapes import (
    OTHER_SUBNET,
    SUBNET,
    TRN1,
    Cluster,
    Partition,
    Resource,
    Storage,
    only,
    with_head,
    with_pool,
    with_queue,
    with_resource,
    with_slurm,
    with_storage,
)


@pytest.mark.parametrize(
    ("name", "in_message", "mended"),
    [
        ("q" * 26, "26 characters long, 1 too many", "q" * 25),
        ("Trn_1", "is not of lower-case letters", "trn-1"),
        ("1st queue", "is not of lower-case letters", "st-queue"),
        ("default", "is taken", "default-queue"),
        ("", "is not of lower-case letters", None),
        ("___", "is not of lower-case letters", None),
        ("queue\n", "is not of lower-case letters", "queue"),
    ],
)
def test_queue_names(name: str, in_message: str, mended: str | None):
    problem = only(with_queue(name=name), Code.PC_NAME, "queues", name, "name")
    assert in_message in problem.message
    assert problem.remedy == (f"write {mended!r}" if mended else "give the queue a name that begins with a letter")
    if mended:
        assert check_parallelcluster(with_queue(name=mended)) == []


def test_cluster_name_leaves_room_for_the_hash():
    problem = only(Cluster(cluster_name="my cluster"), Code.PC_CLUSTER_NAME, "cluster_name")
    assert problem.remedy == "write 'my-cluster'"
    assert problem.allowed.startswith("1 to 51 ")


@pytest.mark.parametrize(
    ("scheduler", "message", "remedy"),
    [
        ("pbs", "ParallelCluster has no scheduler 'pbs'", "write 'slurm'; in job scripts `#PBS` lines become"),
        ("torque", "has had no scheduler 'torque' since 2.11.5", "write 'slurm'; in job scripts `#PBS` lines become"),
        ("sge", "has had no scheduler 'sge' since 2.11.5", "write 'slurm' and start jobs by sbatch"),
        ("awsbatch", "has had no scheduler 'awsbatch' since 3.16.0", "write 'slurm' and start jobs by sbatch"),
        ("Slurm", "ParallelCluster has no scheduler 'Slurm'", "write 'slurm'"),
    ],
)
def test_schedulers(scheduler: str, message: str, remedy: str):
    problem = only(Cluster(scheduler=scheduler), Code.PC_SCHEDULER, "scheduler")
    assert message in problem.message
    assert problem.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("os", "message", "remedy"),
    [
        ("alinux2", "no alinux2 since 3.16.0", "write 'alinux2023'"),
        ("ubuntu2004", "no ubuntu2004 since 3.14.0", "write 'ubuntu2204'"),
        ("centos7", "no centos7 since 3.11.0", "write 'rhel9'"),
        ("ubuntu22.04", "no operating system 'ubuntu22.04'", "write 'ubuntu2204'"),
        ("windows", "no operating system 'windows'", "write 'alinux2023'"),
    ],
)
def test_operating_systems(os: str, message: str, remedy: str):
    problem = only(Cluster(os=os), Code.PC_OS, "os")
    assert message in problem.message
    assert problem.remedy.startswith(remedy)


def test_old_version_and_old_system_are_told_at_once():
    found = check_parallelcluster(Cluster(version="3.12.0", os="alinux2"))
    assert [problem.code for problem in found] == [Code.PC_VERSION, Code.PC_OS]
    assert "of ParallelCluster 3.12 are others" in found[0].message


@pytest.mark.parametrize(
    ("given", "code", "remedy"),
    [
        ("ml.m5.xlarge", Code.PC_INSTANCE_TYPE_PREFIX, "write 'm5.xlarge'"),
        ("m5.xlarg", Code.PC_INSTANCE_TYPE, "write 'm5.xlarge'"),
        ("m5.2xl", Code.PC_INSTANCE_TYPE, "write 'm5.2xlarge'"),
        ("M5.Xlarge", Code.PC_INSTANCE_TYPE, "write 'm5.xlarge'"),
        ("quantum", Code.PC_INSTANCE_TYPE, "write a name as EC2 does"),
    ],
)
def test_instance_types(given: str, code: Code, remedy: str):
    problem = only(with_head(instance_type=given), code, "head_node", "instance_type")
    assert problem.remedy.startswith(remedy)


def test_a_type_that_is_not_known_may_be_one_of_ec2_s():
    problem = only(with_head(instance_type="g4ad.xlarge"), Code.PC_INSTANCE_TYPE, "head_node", "instance_type")
    assert "known" in problem.message
    assert "Ec2InstanceType.of(" in problem.remedy


def test_instance_types_in_one_text_are_told_once():
    with pytest.raises(FleetError) as caught:
        Resource(instance_types="c5.large")
    (problem,) = caught.value.problems
    assert (problem.code, problem.path, problem.remedy) == (Code.WRONG_TYPE, ("instance_types",), "write a tuple")


def test_efa_offers_the_type_that_has_it():
    cluster = with_resource(instance_types=("trn1.2xlarge",), efa=True)
    problem = only(cluster, Code.PC_EFA_TYPE, "queues", "work", "compute_resources", "nodes", "efa")
    assert "'trn1.32xlarge'" in problem.remedy
    assert check_parallelcluster(with_resource(instance_types=("trn1.32xlarge",), efa=True)) == []


def test_capacity_block_is_told_the_number_of_nodes():
    cluster = with_resource(
        queue={"capacity_type": CapacityType.CAPACITY_BLOCK},
        instance_types=("trn1.32xlarge",),
        min_count=0,
        max_count=4,
        capacity_reservation=CapacityReservation(reservation_id="cr-0123456789abcdef0"),
    )
    problem = only(cluster, Code.PC_CAPACITY_BLOCK_COUNT, "queues", "work", "compute_resources", "nodes", "min_count")
    assert problem.remedy.startswith("write 4 for both")


@pytest.mark.parametrize(
    ("capacity", "remedy"),
    [(5000, "take 4800 GiB or 7200 GiB"), (100, "take 1200 GiB"), (1201, "take 1200 GiB or 2400 GiB")],
)
def test_lustre_capacities(capacity: int, remedy: str):
    cluster = with_storage(kind=StorageKind.FSX_LUSTRE, settings={"StorageCapacity": capacity})
    problem = only(cluster, Code.PC_FSX_CAPACITY, "shared_storage", "shared", "settings", "StorageCapacity")
    assert problem.remedy == remedy


def test_lustre_throughput():
    settings = {"StorageCapacity": 4800, "DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 300}
    cluster = with_storage(kind=StorageKind.FSX_LUSTRE, settings=settings)
    problem = only(cluster, Code.PC_FSX_THROUGHPUT, "shared_storage", "shared", "settings", "PerUnitStorageThroughput")
    assert problem.allowed == "125, 250, 500 or 1000 MB/s/TiB"
    assert problem.remedy == "take 250 MB/s/TiB or 500 MB/s/TiB"


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ("GresTypes", "give jobs whole nodes by `exclusive`"),
        ("gReStYpEs", "give jobs whole nodes by `exclusive`"),
        ("Prolog", "/opt/slurm/etc/scripts/prolog.d"),
        ("Epilog", "/opt/slurm/etc/scripts/epilog.d"),
        ("SuspendTime", "scaledown_idletime_minutes"),
        ("TreeWidth", "leave it out"),
    ],
)
def test_denied_settings(setting: str, remedy: str):
    cluster = with_slurm(custom_settings=({setting: "x"},))
    problem = only(cluster, Code.PC_SLURM_DENIED, "slurm", "custom_settings", 0, setting)
    assert remedy in problem.remedy


def test_lines_of_own_nodes_may_say_what_other_lines_may_not():
    assert (
        check_parallelcluster(with_slurm(custom_settings=({"NodeName": "site-1", "State": "CLOUD", "Gres": "x"},)))
        == []
    )


def test_overlaps_are_told_of_the_later_storage():
    cluster = with_storage(Storage(name="a", mount_dir="/data"), Storage(name="b", mount_dir="/data/models"))
    problem = only(cluster, Code.PC_MOUNT_OVERLAP, "shared_storage", "b", "mount_dir")
    assert "'a'" in problem.message
    cluster = with_storage(Storage(name="a", mount_dir="data"), Storage(name="b", mount_dir="/data"))
    assert only(cluster, Code.PC_MOUNT_OVERLAP, "shared_storage", "b", "mount_dir").value == "/data"


def test_local_disks_lie_at_scratch_where_nobody_says_another_place():
    storage = Storage(name="models", mount_dir="/scratch/models")
    assert check_parallelcluster(Cluster(shared_storage=(storage,))) == []
    with_disks = Cluster(queues=(Partition(resources=(TRN1,)),), shared_storage=(storage,))
    problem = only(with_disks, Code.PC_MOUNT_OVERLAP, "shared_storage", "models", "mount_dir")
    assert "the local disks of queue 'work'" in problem.message
    elsewhere = Cluster(
        queues=(Partition(resources=(TRN1,), scratch_mount_dir="/local_scratch"),), shared_storage=(storage,)
    )
    assert check_parallelcluster(elsewhere) == []


def test_head_memory_is_told_in_nodes():
    cluster = Cluster(
        head_node=with_head(instance_type="t3.medium").head_node, queues=with_resource(max_count=100).queues
    )
    problem = only(cluster, Code.PC_HEAD_MEMORY, "head_node", "instance_type")
    assert problem.message == "t3.medium has 4 GiB of memory, and 100 nodes need 4.6 GiB of the head node"


def test_public_address_names_the_types():
    queue = Partition(resources=(TRN1, Resource()), assign_public_ip=True)
    problem = only(Cluster(queues=(queue,)), Code.PC_PUBLIC_ADDRESS, "queues", "work", "assign_public_ip")
    assert problem.message.startswith("trn1.32xlarge starts with several")


@pytest.mark.parametrize(
    ("given", "remedy"),
    [("10.0.0.1", "write '10.0.0.1/32' for this address alone"), ("everyone", "write e.g. '203.0.113.0/24'")],
)
def test_addresses(given: str, remedy: str):
    problem = only(with_pool(allowed_ips=given), Code.PC_ALLOWED_IPS, "login_pools", "users", "allowed_ips")
    assert problem.remedy == remedy


@pytest.mark.parametrize("good", ["0.0.0.0/0", "10.0.0.0/16", "pl-0123456789abcdef0"])
def test_good_addresses(good: str):
    assert check_parallelcluster(with_pool(allowed_ips=good)) == []


def test_different_makers_cannot_be_mixed():
    """EC2's catalog has types of one maker with GPUs of like numbers only; a newer one may differ."""
    other = Ec2InstanceType.of(
        "g9a.4xlarge",
        architecture="x86_64",
        vcpus=16,
        memory_gib=64,
        accelerator="gpu",
        accelerators=1,
        gpu_maker="amd",
    )
    cluster = with_resource(instance_types=("g5.4xlarge", other))
    path = ("queues", "work", "compute_resources", "nodes", "instance_types")
    problem = only(cluster, Code.PC_MIXED_TYPES, *path)
    assert "g9a.4xlarge has 1 amd GPUs" in problem.message


def test_everything_wrong_is_told_at_once():
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
def test_problem_is_told_well(defect: Defect | Stricter):
    problems = check_parallelcluster(defect.cluster)
    assert {problem.code for problem in problems} == {defect.code}
    for problem in problems:
        assert problem.message
        assert problem.remedy
        assert not problem.message.endswith(".")
        assert not problem.remedy.endswith(".")
        assert "  " not in problem.message
        assert _leads_somewhere(defect.cluster, problem.path), problem.path


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_the_neighbour_is_good(defect: Defect):
    assert [str(problem) for problem in check_parallelcluster(defect.good)] == []


def _leads_somewhere(place: Any, path: tuple[PathPart, ...]) -> bool:
    """Whether `path` goes by attributes, items' names and keys, and ends at one of the place's own."""
    if not path:
        return True
    first, rest = path[0], path[1:]
    if isinstance(place, Mapping):
        return (first in place and _leads_somewhere(place[first], rest)) or not rest
    if isinstance(place, list | tuple):
        named = [item for item in place if getattr(item, "name", None) == first]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(first, int):
            return _leads_somewhere(place[first], rest)
        return any(_leads_somewhere(item, rest) for item in named)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if place is None:
        return not rest
    return hasattr(place, str(first)) and _leads_somewhere(getattr(place, str(first)), rest)
