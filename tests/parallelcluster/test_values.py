"""Values of a cluster: properties that rules use, and what the values reject themselves."""

from inspect import signature
from typing import Any

import pytest

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, Os, ParallelClusterVersion, oses, versions
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.parallelcluster.render_configuration import render_storage
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.parallelcluster import check_shared_storage
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import STORAGE_ARGUMENTS, SharedStorage
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from tests.fleet_file.good_parallelcluster import edited
from tests.parallelcluster.clusters import GROUP, SUBNET, group, subnet


def test_constructs_of_the_cdk_are_rendered_by_their_ids() -> None:
    head = HeadNode(instance_type="m5.2xlarge", subnet=subnet(), security_groups=[group()])
    pool = LoginPool(name="users", instance_type="m5.large", subnet=subnet(), security_groups=[group()])
    queue = Queue.cpu("cpu", instance_type="c5.4xlarge", max_count=1, subnets=[subnet()], security_groups=[group()])
    assert (head.subnet_id, pool.subnet_id, queue.subnet_ids) == (SUBNET, SUBNET, (SUBNET,))
    assert {tuple(one.security_group_ids) for one in (head, pool, queue)} == {(GROUP,)}
    assert HeadNode(instance_type="m5.2xlarge").subnet_id is None


@pytest.mark.parametrize(
    ("storage", "rendered"),
    [
        (SharedStorage.lustre("fsx", file_system_id="fs-0123456789abcdef0"), {"FileSystemId": "fs-0123456789abcdef0"}),
        (SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0"), {"VolumeId": "fsvol-0123456789abcdef0"}),
        (
            SharedStorage.ontap("nas", mount_dir="/nas", volume_id="fsvol-0123456789abcdef0"),
            {"VolumeId": "fsvol-0123456789abcdef0"},
        ),
        (
            SharedStorage.file_cache("cache", mount_dir="/cache", file_cache_id="fc-0123456789abcdef0"),
            {"FileCacheId": "fc-0123456789abcdef0"},
        ),
        (
            SharedStorage.ebs("apps", mount_dir="/apps", volume_id="vol-0123456789abcdef0"),
            {"VolumeId": "vol-0123456789abcdef0"},
        ),
        (
            SharedStorage.efs(
                "efs",
                mount_dir="/efs",
                file_system_id="fs-0123456789abcdef0",
                access_point_id="fsap-0123456789abcdef0",
                iam_authorization=True,
            ),
            {
                "FileSystemId": "fs-0123456789abcdef0",
                "EncryptionInTransit": True,
                "IamAuthorization": True,
                "AccessPointId": "fsap-0123456789abcdef0",
            },
        ),
        (
            SharedStorage.managed_lustre("fsx", capacity_gib=4800, settings={"AutomaticBackupRetentionDays": 7}),
            {
                "StorageCapacity": 4800,
                "DeploymentType": "PERSISTENT_2",
                "DataCompressionType": "LZ4",
                "DeletionPolicy": "Retain",
                "PerUnitStorageThroughput": 250,
                "AutomaticBackupRetentionDays": 7,
            },
        ),
        (
            SharedStorage.managed_efs("efs", mount_dir="/efs"),
            {"Encrypted": True, "EncryptionInTransit": True, "DeletionPolicy": "Retain"},
        ),
        (
            SharedStorage.managed_ebs("apps", mount_dir="/apps", size_gib=100, retain=False),
            {"VolumeType": "gp3", "Size": 100, "Encrypted": True, "DeletionPolicy": "Delete"},
        ),
    ],
)
def test_each_kind_of_storage_is_rendered(storage: SharedStorage, rendered: dict[str, Any]) -> None:
    configuration = render_storage(storage)
    (section,) = set(configuration) - {"MountDir", "Name", "StorageType"}
    assert configuration == {
        "MountDir": storage.mount_dir, "Name": storage.name, "StorageType": storage.kind.value, section: rendered,
    }  # fmt: skip
    assert check_section(configuration, "SharedStorage[]") == []
    assert check_shared_storage(storage) == []


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (lambda: SharedStorage.managed_lustre("fsx", capacity_gib=5000), Code.PC_FSX_CAPACITY),
        (
            lambda: SharedStorage.managed_lustre("fsx", capacity_gib=4800, throughput_mb_s_per_tib=300),
            Code.PC_FSX_THROUGHPUT,
        ),
        (
            lambda: SharedStorage(
                name="fsx",
                kind=SharedStorage.lustre("a", file_system_id="fs-0123456789abcdef0").kind,
                mount_dir="/fsx",
                existing_id="fs-0123456789abcdef0",
                settings={"StorageCapacity": 4800},
            ),
            Code.PC_STORAGE_EXISTING,
        ),
        (lambda: SharedStorage.lustre("a" * 31, file_system_id="fs-0123456789abcdef0"), Code.PC_STORAGE_NAME),
    ],
)
def test_invalid_storage_is_reported(made: Any, code: Code) -> None:
    assert code in {problem.code for problem in check_shared_storage(made())}


def test_storage_of_parallelcluster_is_encrypted_and_retained() -> None:
    """In each form: in the fleet file, with a class method, or with settings."""
    plain = SharedStorage(name="apps", kind=StorageKind.EBS, mount_dir="/apps", settings={"Size": 200})
    assert plain.section == {"Size": 200, "Encrypted": True, "DeletionPolicy": "Retain"}
    own = SharedStorage(name="apps", kind=StorageKind.EBS, mount_dir="/apps", settings={"DeletionPolicy": "Snapshot"})
    assert own.section == {"Encrypted": True, "DeletionPolicy": "Snapshot"}


def test_a_login_pool_has_one_node_by_default() -> None:
    fleet = parse_fleet(
        edited("kind: parallelcluster", "kind: parallelcluster\n    login: {people: {type: m5.xlarge}}")
    )
    (of_file,) = fleet.parallelclusters["pc"].login_pools
    assert of_file == LoginPool(name="people", instance_type="m5.xlarge")
    assert of_file.count == 1


@pytest.mark.parametrize(("key", "argument"), STORAGE_ARGUMENTS.items())
def test_a_setting_with_an_argument_is_rejected_as_an_additional_setting(key: str, argument: str) -> None:
    made = (SharedStorage.managed_lustre, SharedStorage.managed_efs, SharedStorage.managed_ebs)
    (first, *_) = (one for one in made if argument in signature(one).parameters)
    numbers: dict[str, Any] = {
        name: 100 for name in ("capacity_gib", "size_gib") if name in signature(first).parameters
    }
    with pytest.raises(FleetError) as caught:
        first("name", mount_dir="/a", settings={key: 1}, **numbers)
    (problem,) = caught.value.problems
    assert (problem.code, problem.remedy) == (Code.PC_OVERRIDE_TYPED, f"use {argument}")


def test_compression_can_be_disabled() -> None:
    plain = SharedStorage.managed_lustre("fsx", capacity_gib=4800, compression=False)
    assert "DataCompressionType" not in plain.settings


def test_versions_of_parallelcluster() -> None:
    named = {value for name, value in vars(ParallelClusterVersion).items() if name.startswith("V")}
    assert named == set(versions())
    assert ParallelClusterVersion.DEFAULT == DEFAULT_VERSION
    assert not ParallelClusterVersion.V3_16_1.unchecked
    assert ParallelClusterVersion.of("3.17.0").unchecked
    for wrong in ("2.11.0", "3.17", "3.17.x", "v3.17.0", "3.17.0.1", "٣.17.0"):
        with pytest.raises(ValueError, match="has the form"):
            ParallelClusterVersion.of(wrong)


def test_operating_systems_of_parallelcluster() -> None:
    named = {value for name, value in vars(Os).items() if name.isupper()}
    assert named == set(oses())
    assert not Os.ALINUX2023.unchecked
    assert Os.of("alinux2027").unchecked
    for wrong in ("Ubuntu2404", "ubuntu-2404", ""):
        with pytest.raises(ValueError, match="lowercase letters and digits"):
            Os.of(wrong)
