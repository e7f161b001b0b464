"""The catalog has the numbers of the installed package; a newer package with other numbers fails here."""

import re

import pytest

from llm_fleet.catalog.ec2_instances import ec2_instance, ec2_instance_names
from llm_fleet.catalog.fsx import lustre_variant, lustre_variants
from llm_fleet.catalog.parallelcluster import (
    CHECKED_LINE,
    DEFAULT_EBS_SIZE_GIB,
    DEFAULT_EBS_TYPE,
    DEFAULT_LUSTRE_TYPE,
    DEFAULT_VERSION,
    denied_slurm_settings,
    ebs_volume_type,
    ebs_volume_types,
    families_without_drivers,
    families_without_placement_group,
    gone,
    known_versions,
    mount_dirs,
    oses,
    parallelcluster_limits,
    parallelcluster_regions,
    private_oses,
    schedulers,
    slurm_of,
    unsupported_oses,
    versions,
)
from llm_fleet_local.parallelcluster.client import Oracle
from tests.agreement.parallelcluster.package import assigned, folder
from tools.make_instances import ec2_types

CONSTANTS = assigned("constants")
EBS = assigned("validators/ebs_validators")
NAMES = assigned("validators/cluster_validators")


def test_the_default_version_is_the_installed_one(oracle: Oracle):
    assert oracle.version() == DEFAULT_VERSION
    assert DEFAULT_VERSION in versions()
    assert all(version.startswith(f"{CHECKED_LINE}.") for version in versions())
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) and slurm_of(version) for version in known_versions())


def test_operating_systems_are_those_of_parallelcluster():
    assert sorted(oses()) == sorted(CONSTANTS["SUPPORTED_OSES"])
    assert list(private_oses()) == CONSTANTS["PRIVATE_OSES"]
    assert list(schedulers()) == CONSTANTS["SUPPORTED_SCHEDULERS"]
    assert not set(gone("oses")) & set(oses())
    assert not set(gone("schedulers")) & set(schedulers())
    assert {word.instead for word in gone("oses").values()} <= set(oses())
    assert dict(unsupported_oses()) == {"p6e-gb200": tuple(CONSTANTS["UNSUPPORTED_OSES_FOR_P6E_GB200"])}


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("UNSUPPORTED_OSES_FOR_DCV", []),
        ("UNSUPPORTED_ARM_OSES_FOR_DCV", []),
        ("UNSUPPORTED_OSES_FOR_LUSTRE", []),
        ("UNSUPPORTED_OSES_FOR_P6_B300", []),
    ],
)
def test_restrictions_without_a_rule_are_empty_in_parallelcluster(name: str, empty: list[str]):
    assert CONSTANTS[name] == empty


def test_efa_is_on_every_operating_system():
    assert NAMES["EFA_UNSUPPORTED_ARCHITECTURES_OSES"] == {"x86_64": [], "arm64": []}


def test_regions_are_those_of_parallelcluster():
    regions = (folder() / "resources" / "supported-regions").read_text(encoding="utf-8").split()
    assert list(parallelcluster_regions()) == regions


def test_limits_are_those_of_parallelcluster():
    limits = parallelcluster_limits()
    assert limits.cluster_name.maximum == CONSTANTS["PCLUSTER_NAME_MAX_LENGTH"]
    assert limits.cluster_name_accounting == CONSTANTS["PCLUSTER_NAME_MAX_LENGTH_SLURM_ACCOUNTING"]
    assert limits.part_name.maximum == NAMES["NAME_MAX_LENGTH"]
    assert f"^{limits.part_name.pattern}$" == NAMES["NAME_REGEX"]
    assert limits.storage_name.maximum == NAMES["SHARED_STORAGE_NAME_MAX_LENGTH"]
    assert limits.queues.maximum == CONSTANTS["MAX_NUMBER_OF_QUEUES"]
    assert limits.login_pools.maximum == CONSTANTS["MAX_NUMBER_OF_LOGIN_NODE_POOLS"]
    assert limits.tags == CONSTANTS["MAX_TAGS_COUNT"]
    assert limits.reserved_tag_prefix == CONSTANTS["PCLUSTER_PREFIX"]
    assert limits.iam_prefix == CONSTANTS["IAM_NAME_PREFIX_LENGTH_LIMIT"]
    assert limits.iam_path == CONSTANTS["IAM_PATH_LENGTH_LIMIT"]
    dev = assigned("validators/dev_settings_validators")
    assert limits.slurm_reconfigure_timeout == dev["MIN_SLURM_RECONFIGURE_TIMEOUT"]


def test_numbers_of_file_systems_are_those_of_parallelcluster():
    limits = parallelcluster_limits().storage
    assert limits["Ebs"]["any"] == CONSTANTS["MAX_EBS_COUNT"]
    for ours, theirs in {"Efs": "efs", "fsx": "fsx", "raid": "raid"}.items():
        assert limits[ours]["new"] == CONSTANTS["MAX_NEW_STORAGE_COUNT"][theirs]
        assert limits[ours].get("existing", 0) == CONSTANTS["MAX_EXISTING_STORAGE_COUNT"][theirs]


def test_denied_slurm_settings_are_those_of_parallelcluster():
    denied = assigned("validators/slurm_settings_validator")["SLURM_SETTINGS_DENY_LIST"]
    for level, theirs in {
        "slurm_conf": denied["SlurmConf"]["Global"],
        "accounting": denied["SlurmConf"]["Accounting"],
        "queue": denied["Queue"]["Global"],
        "compute_resource": denied["ComputeResource"]["Global"],
    }.items():
        assert sorted(name.lower() for name in denied_slurm_settings(level)) == sorted(theirs)


def test_ebs_volume_types_are_those_of_parallelcluster():
    assert CONSTANTS["EBS_VOLUME_TYPE_DEFAULT"] == DEFAULT_EBS_TYPE
    assert CONSTANTS["EBS_VOLUME_SIZE_DEFAULT"] == DEFAULT_EBS_SIZE_GIB
    assert set(ebs_volume_types()) == set(EBS["EBS_VOLUME_TYPE_TO_VOLUME_SIZE_BOUNDS"])
    for name in ebs_volume_types():
        kind = ebs_volume_type(name)
        assert kind is not None
        assert [kind.size.minimum, kind.size.maximum] == EBS["EBS_VOLUME_TYPE_TO_VOLUME_SIZE_BOUNDS"][name]
        assert (kind.iops and [kind.iops.minimum, kind.iops.maximum]) == EBS["EBS_VOLUME_IOPS_BOUNDS"].get(name)
        assert kind.iops_per_gib == EBS["EBS_VOLUME_TYPE_TO_IOPS_RATIO"].get(name)
        assert kind.default_iops == CONSTANTS["EBS_VOLUME_TYPE_IOPS_DEFAULT"].get(name)


def test_lustre_throughputs_are_those_of_parallelcluster():
    """The numbers of FSx are stored once; ParallelCluster has the same."""
    for deployment, theirs in CONSTANTS["FSX_SSD_THROUGHPUT"].items():
        variant = lustre_variant(deployment, "SSD")
        assert variant is not None
        assert list(variant.throughputs) == theirs
    disks = lustre_variant("PERSISTENT_1", "HDD")
    assert disks is not None
    assert list(disks.throughputs) == CONSTANTS["FSX_HDD_THROUGHPUT"]
    assert any(variant.deployment_type == DEFAULT_LUSTRE_TYPE for variant in lustre_variants())


def test_lustre_capacities_are_those_of_parallelcluster(oracle: Oracle):
    """FsxStorageCapacityValidator accepts each step and rejects values between steps."""
    for variant in lustre_variants():
        for tier in variant.tiers if variant.storage_type in ("SSD", "HDD") else ():
            for capacity in (tier.capacity.smallest, tier.capacity.smallest + 1, 2400, 3600, 4800, 5000, 6000, 9000):
                theirs = oracle.execute(
                    "FsxStorageCapacityValidator",
                    storage_capacity=capacity,
                    deployment_type=variant.deployment_type,
                    fsx_storage_type=variant.storage_type,
                    per_unit_storage_throughput=tier.throughput,
                    file_system_id=None,
                    backup_id=None,
                )
                assert tier.capacity.accepts(capacity) == (not theirs), (variant.deployment_type, capacity)


def test_reserved_directories_are_those_of_parallelcluster(oracle: Oracle):
    assert mount_dirs().scratch == CONSTANTS["DEFAULT_EPHEMERAL_DIR"]
    source = (folder() / "validators/cluster_validators.py").read_text(encoding="utf-8")
    listed = source.split("reserved_directories = [")[1].split("]\n")[0]
    assert sorted(re.findall(r'^\s+"(/[^"]+)"', listed, re.M)) == sorted(mount_dirs().reserved)
    assert oracle.execute("SharedStorageMountDirValidator", mount_dir="/usr")


def test_families_without_drivers_or_placement_groups_are_those_of_parallelcluster_and_ec2():
    assert sorted(families_without_drivers()) == sorted(CONSTANTS["NVIDIA_OPENRM_UNSUPPORTED_INSTANCE_TYPES"])
    without = {
        name.partition(".")[0]
        for name, described in ec2_types().items()
        if "cluster" not in described.get("PlacementGroupInfo", {}).get("SupportedStrategies", [])
    }
    assert families_without_placement_group() == without
    facts = [ec2_instance(name) for name in ec2_instance_names()]
    assert all(each is not None and each.memory_gib > 0 for each in facts)
