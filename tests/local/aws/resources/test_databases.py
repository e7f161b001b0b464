"""Databases: RDS's rules for subnets, deletion and storage."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ResourceFailed
from tests.local.aws.resources.cases import Case
from tests.local.aws.resources.database_cases import DATABASE_CASES
from tests.local.aws.resources.support import Deployer
from tests.local.aws.resources.test_lives import test_life as live

CLUSTER = next(case for case in DATABASE_CASES if case.type == "AWS::RDS::DBCluster")


@pytest.mark.parametrize("case", DATABASE_CASES, ids=lambda case: case.type)
def test_life(deployer: Deployer, case: Case) -> None:
    live(deployer, case)


def subnets(deployer: Deployer, *zones: str) -> list[str]:
    vpc = deployer.create("AWS::EC2::VPC", CidrBlock="10.0.0.0/16").physical_id
    return [
        deployer.create("AWS::EC2::Subnet", VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=zone).physical_id
        for n, zone in enumerate(zones)
    ]


def test_a_subnet_group_must_have_two_zones(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="Availability Zone"):
        deployer.create(
            "AWS::RDS::DBSubnetGroup",
            DBSubnetGroupDescription="one",
            SubnetIds=subnets(deployer, "us-west-2a", "us-west-2a"),
        )


def test_life_of_a_subnet_group(deployer: Deployer) -> None:
    first, second, third = subnets(deployer, "us-west-2a", "us-west-2b", "us-west-2c")
    given: dict[str, Any] = {"DBSubnetGroupDescription": "slurmdbd", "SubnetIds": [first, second]}
    created = deployer.create("AWS::RDS::DBSubnetGroup", **given)
    now = {"DBSubnetGroupDescription": "other", "SubnetIds": [first, third]}
    assert deployer.update("AWS::RDS::DBSubnetGroup", created, given, now).physical_id == created.physical_id
    reported = deployer.client("rds").describe_db_subnet_groups(DBSubnetGroupName=created.physical_id)[
        "DBSubnetGroups"
    ][0]
    assert reported["DBSubnetGroupDescription"] == "other"
    assert {subnet["SubnetIdentifier"] for subnet in reported["Subnets"]} == {first, third}
    deployer.delete("AWS::RDS::DBSubnetGroup", created, **now)
    assert not deployer.provider.exists("AWS::RDS::DBSubnetGroup", created.physical_id)


def test_a_protected_cluster_is_not_deleted(deployer: Deployer) -> None:
    given: dict[str, Any] = {**CLUSTER.properties, "DeletionProtection": True}
    created = deployer.create("AWS::RDS::DBCluster", **given)
    with pytest.raises(ResourceFailed, match=r"(?i)deletion ?protection|protected"):
        deployer.delete("AWS::RDS::DBCluster", created, **given)
    assert deployer.provider.exists("AWS::RDS::DBCluster", created.physical_id)


def test_a_server_requires_its_cluster(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="DBClusterNotFound"):
        deployer.create(
            "AWS::RDS::DBInstance",
            DBClusterIdentifier="missing",
            DBInstanceClass="db.serverless",
            Engine="aurora-mysql",
        )


@pytest.mark.parametrize("size", ["50", "105"])
def test_storage_of_an_instance_grows_by_a_tenth_or_more(deployer: Deployer, size: str) -> None:
    case = next(case for case in DATABASE_CASES if case.type == "AWS::RDS::DBInstance")
    old: dict[str, Any] = {**case.properties, "AllocatedStorage": "100", "MaxAllocatedStorage": 500}
    created = deployer.create(case.type, **old)
    with pytest.raises(ResourceFailed, match=f"from 100 GiB to {size} GiB"):
        deployer.update(case.type, created, old, old | {"AllocatedStorage": size})
    deployer.update(case.type, created, old, old | {"AllocatedStorage": "110"})
