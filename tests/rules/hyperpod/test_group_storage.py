from dataclasses import replace

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_place import check_mount_path, check_root_volume
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import CONTROLLER, HOME, LUSTRE, WORKERS, changed, cluster, cluster_with


def test_lustre_without_a_vpc():
    found = check_cluster(cluster(has_vpc=False, subnet_ids=(), security_group_ids=()))
    problem = only(found, Code.MOUNT_WITHOUT_VPC, "lustre")
    assert "FSx for Lustre stands in a VPC" in problem.message
    assert "give the cluster the network" in problem.remedy


def test_open_zfs_without_a_vpc():
    found = check_cluster(cluster(mounts=(HOME,), has_vpc=False, subnet_ids=(), security_group_ids=()))
    only(found, Code.MOUNT_WITHOUT_VPC, "open_zfs")


def test_groups_and_file_system_in_different_zones():
    found = check_cluster(cluster_with(availability_zone_id="usw2-az1"))
    problem = only(found, Code.MOUNT_ZONE, "groups", "worker-group", "availability_zone_id")
    assert "'worker-group' is in usw2-az1" in problem.message
    assert "usw2-az4" in problem.message
    assert problem.remedy == "move the group to usw2-az4, or the file system to usw2-az1"


def test_a_cluster_in_the_wrong_zone_is_told_once_and_not_for_each_group():
    (problem,) = check_cluster(cluster(availability_zone_id="usw2-az1"))
    assert (problem.code, problem.path) == (Code.MOUNT_ZONE, ("availability_zone_id",))
    assert "move the cluster to usw2-az4" in problem.remedy


def test_every_group_of_a_wrong_zone_of_its_own_is_told():
    groups = [changed(group, availability_zone_id="usw2-az1") for group in (CONTROLLER, WORKERS)]
    found = check_cluster(cluster(*groups))
    assert [problem.path[1] for problem in found] == ["controller-group", "worker-group"]
    assert {problem.code for problem in found} == {Code.MOUNT_ZONE}


@pytest.mark.parametrize(
    "changes",
    [
        {"availability_zone_id": "usw2-az1", "mount_lustre": False},
        {"subnets": ("subnet-0abc",), "security_groups": ("sg-0abc",)},
    ],
)
def test_zone_does_not_matter_where_nothing_is_mounted_or_nobody_knows_it(changes: dict[str, object]):
    worker = changed(WORKERS, **changes)  # pyright: ignore[reportArgumentType]
    assert check_cluster(cluster(CONTROLLER, worker)) == []


def test_two_file_systems_of_one_kind():
    found = check_cluster(cluster(mounts=(LUSTRE, replace(LUSTRE, mount_path="/scratch"))))
    problem = only(found, Code.MOUNT_TWICE, "lustre")
    assert "not 2" in problem.message


@pytest.mark.parametrize(
    ("path", "in_message"),
    [
        ("fsx", "is not absolute"),
        ("/", "is the root"),
        ("/fsx/../etc", "has a . or .."),
        ("/fsx data", "has not the form"),
        ("/" + "f" * 1024, "has not the form"),
    ],
)
def test_mount_paths(path: str, in_message: str):
    found = check_cluster(cluster(mounts=(replace(LUSTRE, mount_path=path),)))
    problem = only(found, Code.MOUNT_PATH, "lustre", "mount_path")
    assert in_message in problem.message


@pytest.mark.parametrize(
    ("path", "in_message"),
    [
        ("/opt/sagemaker", "the secondary EBS volume at /opt/sagemaker"),
        ("/opt", "the secondary EBS volume at /opt/sagemaker"),
        ("/opt/slurm/etc", "Slurm itself at /opt/slurm"),
        ("/var/lib/docker", "the operating system at /var"),
    ],
)
def test_mount_paths_that_are_taken(path: str, in_message: str):
    problem = only(check_mount_path(path), Code.MOUNT_PATH_TAKEN, "mount_path")
    assert in_message in problem.message


@pytest.mark.parametrize("path", ["/fsx", "/home", "/mnt/fsx", "/variables", "/opt/data"])
def test_good_mount_paths(path: str):
    assert check_mount_path(path) == []


@pytest.mark.parametrize("lustre", ["/home", "/home/fsx", "/home/"])
def test_mount_paths_that_overlap(lustre: str):
    found = check_cluster(cluster(mounts=(replace(LUSTRE, mount_path=lustre), HOME)))
    problem = only(found, Code.MOUNT_PATH_TAKEN, "open_zfs", "mount_path")
    assert problem.remedy == "mount them side by side, e.g. at '/fsx' and '/home'"


@pytest.mark.parametrize(("size", "in_message"), [(0, "is below 1"), (16385, "is above 16384"), (-5, "is negative")])
def test_ebs_volume(size: int, in_message: str):
    found = check_cluster(cluster_with(ebs_volume_gib=size))
    problem = only(found, Code.EBS_SIZE, "groups", "worker-group", "ebs_volume_gib")
    assert in_message in problem.message
    assert problem.allowed == "1 to 16384"


def test_root_volume():
    sized = only(check_root_volume(size_gib=200, kms_key_id="key"), Code.ROOT_VOLUME, "size_gib")
    assert "secondary EBS volume" in sized.remedy
    only(check_root_volume(size_gib=None, kms_key_id=None), Code.ROOT_VOLUME, "kms_key_id")
    assert check_root_volume(size_gib=None, kms_key_id="key") == []
