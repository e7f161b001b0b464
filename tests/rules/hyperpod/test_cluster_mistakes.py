"""One mistake in a valid cluster: what is reported, and where. Mistakes in a group are in test_group_mistakes.py."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_place import check_mount_path, check_root_volume
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_tags
from llm_fleet.rules.hyperpod.instance_group import check_lifecycle_source
from llm_fleet.rules.terms import SlurmConfigStrategy
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from tests.rules.findings import TOKEN, check_one
from tests.rules.hyperpod.shapes import (
    CONTROLLER,
    HOME,
    LOGIN,
    LUSTRE,
    WORKERS,
    changed,
    cluster,
    cluster_with,
    database,
)

SECOND = changed(CONTROLLER, name="second")
OVERRIDE: dict[str, Any] = {"subnets": ("subnet-0abc",), "security_groups": ("sg-0abc",)}
NO_VPC: dict[str, Any] = {"has_vpc": False, "subnet_ids": (), "security_group_ids": ()}
NOT_CONTINUOUS: dict[str, Any] = {
    "node_provisioning_mode": None,
    "slurm_config_strategy": SlurmConfigStrategy.MERGE,
}


@pytest.mark.parametrize(
    ("invalid", "code", "where", "said"),
    [
        (cluster(subnet_ids=("subnet-0abc",) * 17), Code.SUBNET_NUMBER, "subnet_ids", ["must be at most 16"]),
        (cluster(subnet_ids=(TOKEN,) * 17), Code.SUBNET_NUMBER, "subnet_ids", ["must be at most 16"]),
        (
            cluster(security_group_ids=("sg-0abc",) * 6),
            Code.SECURITY_GROUP_NUMBER,
            "security_group_ids",
            ["must be at most 5"],
        ),
        (cluster(subnet_ids=("compute-subnet",)), Code.SUBNET_ID, "subnet_ids[0]", ["'subnet-…'"]),
        (cluster(security_group_ids=("default",)), Code.SUBNET_ID, "security_group_ids[0]", ["'sg-…'"]),
        (cluster(security_group_ids=("sg-" + "0" * 30,)), Code.SUBNET_ID, "security_group_ids[0]", ["'sg-…'"]),
        (
            cluster(*cluster_with(**OVERRIDE).groups, **NO_VPC, mounts=()),
            Code.OVERRIDE_WITHOUT_VPC,
            "groups.worker-group.subnets",
            ["given:   ['subnet-0abc']"],
        ),
        (
            cluster(region="eu-west-3", availability_zone_id=None, mounts=()),
            Code.REGION_WITHOUT_HYPERPOD,
            "region",
            ["AWS does not offer HyperPod in eu-west-3", "eu-west-1, eu-west-2, sa-east-1"],
        ),
        (
            cluster(CONTROLLER, WORKERS, changed(WORKERS, partition="other")),
            Code.GROUP_NAME_TWICE,
            "groups.worker-group.name",
            ["2 instance groups have the name 'worker-group'"],
        ),
        (
            cluster(CONTROLLER, SECOND, WORKERS),
            Code.CONTROLLER_TWICE,
            "groups.second.node_type",
            ["'controller-group', 'second'", "keep 'controller-group' as controller"],
        ),
        (cluster(WORKERS), Code.CONTROLLER_MISSING, "groups", ["ml.m5.xlarge"]),
        (
            cluster(CONTROLLER, LOGIN, changed(LOGIN, name="second")),
            Code.LOGIN_TWICE,
            "groups.second.node_type",
            ["allowed: at most one login group", "raise the count of 'login-group'"],
        ),
        # A missing controller would be a second report of the same mistake.
        (cluster(groups=()), Code.GROUP_NUMBER, "groups", []),
        *(
            (
                cluster(changed(CONTROLLER, count=count), WORKERS),
                Code.CONTROLLER_COUNT,
                "groups.controller-group.count",
                [f"given:   {count}"],
            )
            for count in (0, 2)
        ),
        *(
            (
                cluster(*others, changed(group, partition="heads"), WORKERS),
                Code.PARTITION_MISPLACED,
                f"groups.{group.name}.partition",
                [f"a {group.node_type.lower()} group cannot have a partition"],
            )
            for group, others in ((CONTROLLER, ()), (LOGIN, (CONTROLLER,)))
        ),
        (
            cluster(CONTROLLER, changed(WORKERS, min_count=1), **NOT_CONTINUOUS),
            Code.MIN_COUNT_NOT_CONTINUOUS,
            "groups.worker-group.min_count",
            ["write `provisioning: Continuous`,"],
        ),
        (
            cluster(node_provisioning_mode=None),
            Code.STRATEGY_MISSING,
            "slurm_config_strategy",
            ["write Merge", "allowed: Overwrite, Managed, Merge"],
        ),
        *(
            (
                cluster(slurm_config_strategy=strategy),
                Code.STRATEGY_WITH_CONTINUOUS,
                "slurm_config_strategy",
                [f"given:   {strategy.value!r}", "remove the strategy"],
            )
            for strategy in SlurmConfigStrategy
        ),
        (
            cluster(**NOT_CONTINUOUS, accounting_database=database()),
            Code.ACCOUNTING_NOT_CONTINUOUS,
            "accounting_database",
            ["write `provisioning: Continuous`,"],
        ),
        (
            cluster(**NO_VPC),
            Code.MOUNT_WITHOUT_VPC,
            "lustre",
            ["FSx for Lustre is in a VPC", "give the cluster the network"],
        ),
        (cluster(mounts=(HOME,), **NO_VPC), Code.MOUNT_WITHOUT_VPC, "open_zfs", ["FSx for OpenZFS"]),
        # It is reported once, not for each group.
        (
            cluster(availability_zone_id="usw2-az1"),
            Code.MOUNT_ZONE,
            "availability_zone_id",
            ["move the cluster to usw2-az4"],
        ),
        (
            cluster(mounts=(LUSTRE, replace(LUSTRE, mount_path="/scratch"))),
            Code.MOUNT_TWICE,
            "lustre",
            ["not 2"],
        ),
        *(
            (
                cluster(mounts=(replace(LUSTRE, mount_path=path),)),
                Code.MOUNT_PATH,
                "lustre.mount_path",
                [said],
            )
            for path, said in {
                "fsx": "is not absolute",
                "/": "is the root",
                "/fsx/../etc": "has a . or ..",
                "/fsx data": "is not in the format",
                "/" + "f" * 1024: "is not in the format",
            }.items()
        ),
        *(
            (
                cluster(mounts=(replace(LUSTRE, mount_path=path), HOME)),
                Code.MOUNT_PATH_TAKEN,
                "open_zfs.mount_path",
                ["mount them at separate paths, e.g. '/fsx' and '/home'"],
            )
            for path in ("/home", "/home/fsx", "/home/")
        ),
        *(
            (
                cluster(lifecycle_source_s3_uri=uri),
                Code.LIFECYCLE_SOURCE,
                "lifecycle_source_s3_uri",
                ["write s3://<bucket>/<prefix>/"],
            )
            for uri in ("my-bucket/prefix", "", "ftp://my-bucket/x")
        ),
        (
            cluster(lifecycle_source_s3_uri="s3://sagemaker-x/" + "p" * 1024),
            Code.LIFECYCLE_SOURCE,
            "lifecycle_source_s3_uri",
            ["is 1041 characters long"],
        ),
    ],
)
def test_one_mistake_is_reported_once(invalid: PlacedCluster, code: Code, where: str, said: list[str]):
    check_one(check_cluster(invalid), code, where, *said)


@pytest.mark.parametrize(
    ("name", "in_message", "repaired"),
    [
        ("ml_cluster", "contains an underscore", "ml-cluster"),
        ("ml cluster.2", "contains a space, a dot", "ml-cluster-2"),
        ("-ml-cluster", "begins or ends with a hyphen", "ml-cluster"),
        ("ml-cluster-", "begins or ends with a hyphen", "ml-cluster"),
        ("a" * 64, "has 64 characters, 1 too many", "a" * 63),
        ("_" * 64, "has 64 characters, 1 too many and contains an underscore", None),
        ("klüster", "contains 'ü'", "kl-ster"),
        ("", "is empty", None),
        ("___", "contains an underscore", None),
        ("ml-cluster\n", "contains '\\n'", "ml-cluster"),
    ],
)
def test_an_invalid_cluster_name_is_reported(name: str, in_message: str, repaired: str | None):
    remedy = f"write `{repaired}`" if repaired else "give the cluster name a letter or a digit"
    check_one(check_cluster(cluster(cluster_name=name)), Code.CLUSTER_NAME, "cluster_name", in_message, remedy)
    if repaired:
        assert check_cluster(cluster(cluster_name=repaired)) == []


@pytest.mark.parametrize(
    ("tags", "code", "in_message"),
    [
        ({"": "x"}, Code.TAG_KEY, "0 characters"),
        ({"k" * 129: "x"}, Code.TAG_KEY, "129 characters"),
        ({"key": "v" * 257}, Code.TAG_VALUE, "257 characters"),
        ({"who?": "x"}, Code.TAG_KEY, "contains '?'"),
        ({"key": "a;b"}, Code.TAG_VALUE, "contains ';'"),
        ({"aws:team": "x"}, Code.TAG_KEY, "begins with 'aws:'"),
    ],
)
def test_invalid_tags_are_reported(tags: dict[str, str], code: Code, in_message: str):
    check_one(check_tags(tags), code, f"tags.{next(iter(tags))}", in_message)


def test_fifty_tags_are_allowed_and_one_more_is_not():
    tags = {f"key-{number}": "größe = ½ @ a/b" for number in range(50)}
    assert check_tags(tags) == []
    check_one(check_tags(tags | {"one-more": ""}), Code.TAG_NUMBER, "tags", "1 too many")


@pytest.mark.parametrize(
    ("field", "value", "in_remedy"),
    [
        ("endpoint", "mysql://db:3306", "host name alone"),
        ("endpoint", "", "host name alone"),
        ("port", 0, "3306"),
        ("port", 65536, "3306"),
        ("database_name", "slurm-db", "letters, digits, $ and _"),
        ("database_name", "d" * 65, "letters, digits, $ and _"),
        ("secret_arn", "slurm-secret-with-a-long-name", "whole ARN"),
    ],
)
def test_invalid_fields_of_the_accounting_database_are_reported(field: str, value: Any, in_remedy: str):
    # A secret of the CDK can be imported by its name only.
    given = {"secret": SimpleNamespace(secret_arn=value)} if field == "secret_arn" else {field: value}
    found = check_cluster(cluster(accounting_database=database(**given)))
    check_one(found, Code.ACCOUNTING_DATABASE, f"accounting_database.{field}", f"given:   {value!r}", in_remedy)


def test_every_group_with_a_wrong_az_is_reported():
    groups = [changed(group, availability_zone_id="usw2-az1") for group in (CONTROLLER, WORKERS)]
    found = check_cluster(cluster(*groups))
    assert [problem.path[1] for problem in found] == ["controller-group", "worker-group"]
    assert {problem.code for problem in found} == {Code.MOUNT_ZONE}


@pytest.mark.parametrize(
    ("path", "in_message"),
    [
        ("/opt/sagemaker", "the secondary EBS volume at /opt/sagemaker"),
        ("/opt", "the secondary EBS volume at /opt/sagemaker"),
        ("/opt/slurm/etc", "Slurm itself at /opt/slurm"),
        ("/var/lib/docker", "the operating system at /var"),
    ],
)
def test_reserved_mount_paths_are_reported(path: str, in_message: str):
    check_one(check_mount_path(path), Code.MOUNT_PATH_TAKEN, "mount_path", in_message)


@pytest.mark.parametrize("path", ["/fsx", "/home", "/mnt/fsx", "/variables", "/opt/data"])
def test_valid_mount_paths(path: str):
    assert check_mount_path(path) == []


def test_an_invalid_root_volume_is_reported():
    sized = check_root_volume(size_gib=200, kms_key_id="key")
    check_one(sized, Code.ROOT_VOLUME, "size_gib", "secondary EBS volume")
    check_one(check_root_volume(size_gib=None, kms_key_id=None), Code.ROOT_VOLUME, "kms_key_id")
    assert check_root_volume(size_gib=None, kms_key_id="key") == []


@pytest.mark.parametrize("known", [None, TOKEN])
def test_a_lifecycle_source_that_is_a_token_passes(known: str | None):
    assert check_lifecycle_source(known) == []


@pytest.mark.parametrize(
    ("group", "zone"),
    [
        (WORKERS, "usw2-az4"),
        (changed(WORKERS, availability_zone_id="usw2-az1"), "usw2-az1"),
        (changed(WORKERS, subnets=("subnet-0abc",)), None),
        (changed(WORKERS, subnets=("subnet-0abc",), availability_zone_id="usw2-az1"), "usw2-az1"),
    ],
)
def test_the_az_of_a_group(group: InstanceGroup, zone: str | None):
    assert cluster().zone_of(group) == zone
