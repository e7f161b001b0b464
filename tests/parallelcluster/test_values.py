"""The values of a cluster: what the rules ask of them, what they refuse by themselves."""

from dataclasses import fields
from inspect import getmembers, signature
from typing import Any

import pytest

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, Os, ParallelClusterVersion, oses, versions
from llm_fleet.parallelcluster.capacity_reservation import CapacityReservation
from llm_fleet.parallelcluster.compute_resource import ComputeResource
from llm_fleet.parallelcluster.dcv import Dcv
from llm_fleet.parallelcluster.head_node import HeadNode
from llm_fleet.parallelcluster.login_pool import LoginPool
from llm_fleet.parallelcluster.placement_group import PlacementGroup
from llm_fleet.parallelcluster.queue import Queue
from llm_fleet.parallelcluster.queue_options import BlockOptions, QueueOptions, ResourceOptions
from llm_fleet.parallelcluster.render_storage import render_storage
from llm_fleet.parallelcluster.root_volume import RootVolume
from llm_fleet.parallelcluster.shared_storage import SharedStorage
from llm_fleet.parallelcluster.slurm_settings import SlurmSettings
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster import part_protocols, protocols
from llm_fleet.rules.parallelcluster.check import check_shared_storage
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.storage_arguments import STORAGE_ARGUMENTS
from llm_fleet.rules.problem import FleetError
from tests.parallelcluster.clusters import GROUP, SUBNET, group, subnet

SHAPES = {
    HeadNode: protocols.HeadNodeLike,
    Queue: protocols.QueueLike,
    ComputeResource: protocols.ComputeResourceLike,
    LoginPool: protocols.LoginPoolLike,
    SharedStorage: part_protocols.SharedStorageLike,
    SlurmSettings: part_protocols.SlurmSettingsLike,
    RootVolume: part_protocols.RootVolumeLike,
    PlacementGroup: part_protocols.PlacementGroupLike,
    CapacityReservation: part_protocols.CapacityReservationLike,
    Dcv: part_protocols.DcvLike,
}
OF_CDK = {"subnet", "subnets", "security_groups"}
"""Fields that hold references of the CDK, whose ids the rules read."""


def attributes(shape: type) -> set[str]:
    """What a protocol asks for."""
    return {name for name, member in getmembers(shape) if isinstance(member, property)}


@pytest.mark.parametrize(("value", "shape"), SHAPES.items())
def test_a_value_is_what_the_rules_ask_for_and_no_more(value: type, shape: type) -> None:
    asked = attributes(shape)
    assert [name for name in asked if not hasattr(value, name)] == []
    assert {field.name for field in fields(value)} - OF_CDK == {
        name for name in asked if not isinstance(getattr(value, name), property)
    }


@pytest.mark.parametrize("value", SHAPES)
def test_a_value_is_frozen_and_takes_keywords_only(value: type) -> None:
    assert getattr(value, "__dataclass_params__").frozen  # noqa: B009 - typeshed does not know it
    assert all(field.kw_only for field in fields(value))


def test_references_of_the_cdk_are_told_by_their_ids() -> None:
    head = HeadNode(instance_type="m5.2xlarge", subnet=subnet(), security_groups=[group()])
    pool = LoginPool(name="users", instance_type="m5.large", subnet=subnet(), security_groups=[group()])
    queue = Queue.cpu("cpu", instance_type="c5.4xlarge", max_count=1, subnets=[subnet()], security_groups=[group()])
    assert (head.subnet_id, pool.subnet_id, queue.subnet_ids) == (SUBNET, SUBNET, (SUBNET,))
    assert {tuple(one.security_group_ids) for one in (head, pool, queue)} == {(GROUP,)}
    assert HeadNode(instance_type="m5.2xlarge").subnet_id is None


def test_the_presets_take_every_field_that_they_do_not_fill_in() -> None:
    """A new field of a queue or compute resource is a keyword of the presets, or is named here with its reason."""
    of_queue = {field.name for field in fields(Queue)}
    of_nodes = {field.name for field in fields(ComputeResource)}
    positional = {"name", "compute_resources", "capacity_type"}
    with_several_types = {"allocation_strategy"}
    assert of_queue - positional - with_several_types == set(QueueOptions.__annotations__) - set(
        ResourceOptions.__annotations__
    )
    by_preset = {"name", "instance_types", "min_count", "max_count"}
    as_the_queue = of_nodes & of_queue
    assert of_nodes - by_preset - as_the_queue == set(ResourceOptions.__annotations__)
    assert set(QueueOptions.__annotations__) - set(BlockOptions.__annotations__) == {"capacity_reservation"}


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
def test_storage(storage: SharedStorage, rendered: dict[str, Any]) -> None:
    told = render_storage(storage)
    (section,) = set(told) - {"MountDir", "Name", "StorageType"}
    assert told == {
        "MountDir": storage.mount_dir, "Name": storage.name, "StorageType": storage.kind.value, section: rendered,
    }  # fmt: skip
    assert check_section(told, "SharedStorage[]") == []
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
def test_storage_that_cannot_be_does_not_construct(made: Any, code: Code) -> None:
    with pytest.raises(FleetError) as caught:
        made()
    assert code in {problem.code for problem in caught.value.problems}


@pytest.mark.parametrize(("key", "argument"), STORAGE_ARGUMENTS.items())
def test_what_has_an_argument_is_no_further_setting(key: str, argument: str) -> None:
    made = (SharedStorage.managed_lustre, SharedStorage.managed_efs, SharedStorage.managed_ebs)
    (first, *_) = (one for one in made if argument in signature(one).parameters)
    numbers: dict[str, Any] = {
        name: 100 for name in ("capacity_gib", "size_gib") if name in signature(first).parameters
    }
    with pytest.raises(FleetError) as caught:
        first("name", mount_dir="/a", settings={key: 1}, **numbers)
    (problem,) = caught.value.problems
    assert (problem.code, problem.remedy) == (Code.PC_OVERRIDE_TYPED, f"use {argument}")


def test_compression_can_be_left_out() -> None:
    plain = SharedStorage.managed_lustre("fsx", capacity_gib=4800, compression=False)
    assert "DataCompressionType" not in plain.settings


def test_versions() -> None:
    named = {value for name, value in vars(ParallelClusterVersion).items() if name.startswith("V")}
    assert named == set(versions())
    assert ParallelClusterVersion.DEFAULT == DEFAULT_VERSION
    assert not ParallelClusterVersion.V3_16_1.unchecked
    assert ParallelClusterVersion.of("3.17.0").unchecked
    for wrong in ("2.11.0", "3.17", "3.17.x", "v3.17.0", "3.17.0.1", "٣.17.0"):
        with pytest.raises(ValueError, match="three numbers"):
            ParallelClusterVersion.of(wrong)


def test_operating_systems() -> None:
    named = {value for name, value in vars(Os).items() if name.isupper()}
    assert named == set(oses())
    assert not Os.ALINUX2023.unchecked
    assert Os.of("alinux2027").unchecked
    for wrong in ("Ubuntu2404", "ubuntu-2404", ""):
        with pytest.raises(ValueError, match="lower-case letters and digits"):
            Os.of(wrong)
