"""A database for accounting: its resources, what is retained, and invalid values."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from llm_fleet import (
    ExistingNetworkSpec,
    FleetKey,
    FleetNetwork,
    NetworkSpec,
    SlurmDatabase,
    SlurmDatabaseSpec,
)
from llm_fleet.network.network import Network
from llm_fleet.rules.problem import FleetError
from tests.accounting.conftest import Find

ONE, TWO, THREE = (f"subnet-0123456789abcdef{n}" for n in range(3))


def only(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (one,) = found.values()
    return one


def test_by_default_it_is_a_small_serverless_aurora(stack: cdk.Stack, network: Network, find: Find) -> None:
    SlurmDatabase(stack, "Database", network=network)
    cluster = only(find("AWS::RDS::DBCluster"))["Properties"]
    assert cluster["Engine"] == "aurora-mysql"
    assert cluster["ServerlessV2ScalingConfiguration"] == {"MinCapacity": 0.5, "MaxCapacity": 4}
    assert (cluster["StorageEncrypted"], cluster["DeletionProtection"], cluster["BackupRetentionPeriod"]) == (
        True,
        True,
        14,
    )
    assert cluster["EnableCloudwatchLogsExports"] == ["audit", "error", "slowquery"]
    server = only(find("AWS::RDS::DBInstance"))["Properties"]
    assert (server["DBInstanceClass"], server["PubliclyAccessible"]) == ("db.serverless", False)


def test_the_parameter_group_has_what_slurmdbd_requires(stack: cdk.Stack, network: Network, find: Find) -> None:
    SlurmDatabase(stack, "Database", network=network)
    parameters = only(find("AWS::RDS::DBClusterParameterGroup"))["Properties"]["Parameters"]
    assert parameters["innodb_lock_wait_timeout"] == "900"
    assert parameters["require_secure_transport"] == "ON"
    assert parameters["server_audit_events"] == "CONNECT"


def test_its_subnets_are_in_two_azs_without_internet_access(
    stack: cdk.Stack, fleet_network: FleetNetwork, find: Find
) -> None:
    SlurmDatabase(stack, "Database", network=fleet_network)
    ids = [one["Ref"] for one in only(find("AWS::RDS::DBSubnetGroup"))["Properties"]["SubnetIds"]]
    subnets = find("AWS::EC2::Subnet")
    zones = [subnets[id]["Properties"]["AvailabilityZone"] for id in ids]
    assert zones == [{"Fn::Select": [index, {"Fn::GetAZs": ""}]} for index in (0, 1)]
    tables = {
        association["Properties"]["RouteTableId"]["Ref"]
        for association in find("AWS::EC2::SubnetRouteTableAssociation").values()
        if association["Properties"]["SubnetId"].get("Ref") in ids
    }
    assert len(tables) == 2
    assert tables.isdisjoint(route["Properties"]["RouteTableId"]["Ref"] for route in find("AWS::EC2::Route").values())


@pytest.mark.parametrize("zones", [1, 2, 6])
def test_its_subnets_overlap_with_no_others_and_keep_their_blocks(stack: cdk.Stack, find: Find, zones: int) -> None:
    ids = [f"usw2-az{n + 1}" for n in range(min(zones, 4))] if zones < 6 else [f"use1-az{n + 1}" for n in range(6)]
    home = stack if zones < 6 else cdk.Stack(cdk.App(), "East", env=cdk.Environment(region="us-east-1"))
    network = FleetNetwork(home, "Network", NetworkSpec(availability_zone_ids=ids))
    network.database_subnets()
    blocks = [
        found["Properties"]["CidrBlock"]
        for found in Template.from_stack(home).find_resources("AWS::EC2::Subnet").values()
    ]
    assert len(blocks) == len(set(blocks)) == 3 * zones + 2
    assert {"10.0.96.0/20", "10.0.112.0/20"} <= set(blocks)


def test_by_default_no_client_is_allowed(stack: cdk.Stack, network: Network, find: Find) -> None:
    database = SlurmDatabase(stack, "Database", network=network)
    group = stack.resolve(database.security_group.security_group_id)

    found = find("AWS::EC2::SecurityGroupIngress").values()
    assert [rule for rule in found if rule["Properties"]["GroupId"] == group] == []


def test_clients_are_allowed_on_its_port(stack: cdk.Stack, network: Network, find: Find) -> None:
    database = SlurmDatabase(stack, "Database", SlurmDatabaseSpec(port=3307), network=network)
    database.connections.allow_default_port_from(network.security_group)
    group = stack.resolve(database.security_group.security_group_id)
    found = [rule["Properties"] for rule in find("AWS::EC2::SecurityGroupIngress").values()]
    (rule,) = [rule for rule in found if rule["GroupId"] == group]
    assert (rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) == (3307, 3307, "tcp")
    assert rule["SourceSecurityGroupId"] == stack.resolve(network.security_group.security_group_id)


def test_the_password_is_in_no_template_and_the_same_in_both_secrets(
    stack: cdk.Stack, network: Network, find: Find
) -> None:
    database = SlurmDatabase(stack, "Database", network=network)
    secrets = find("AWS::SecretsManager::Secret")
    credentials = secrets[stack.resolve(database.credentials_secret.secret_arn)["Ref"]]["Properties"]
    password = secrets[stack.resolve(database.password_secret.secret_arn)["Ref"]]["Properties"]
    generated = credentials["GenerateSecretString"]
    assert json.loads(generated["SecretStringTemplate"]) == {"username": "slurm"}
    assert generated["GenerateStringKey"] == "password"
    assert generated["ExcludePunctuation"] is True  # slurmdbd.conf ends a value at `#`; RDS rejects `/`, `"` and `@`
    reference = ["{{resolve:secretsmanager:", ":SecretString:password::}}"]
    for place in (password["SecretString"], only(find("AWS::RDS::DBCluster"))["Properties"]["MasterUserPassword"]):
        assert [part for part in place["Fn::Join"][1] if isinstance(part, str)] == reference
        assert stack.resolve(database.credentials_secret.secret_arn) in place["Fn::Join"][1]


RETAINED = (
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
    "AWS::RDS::DBSubnetGroup",
    "AWS::RDS::DBClusterParameterGroup",
    "AWS::RDS::DBParameterGroup",
    "AWS::SecretsManager::Secret",
    "AWS::EC2::VPC",
)


@pytest.mark.parametrize("engine", ["aurora-mysql", "mariadb"])
def test_it_is_retained_with_the_resources_that_it_depends_on(
    stack: cdk.Stack, fleet_network: FleetNetwork, find: Find, engine: str
) -> None:
    database = SlurmDatabase(stack, "Database", SlurmDatabaseSpec(engine=engine), network=fleet_network)
    kept = find(*RETAINED, "AWS::EC2::SecurityGroup", "AWS::EC2::Subnet")
    own = stack.resolve(database.security_group.security_group_id)["Fn::GetAtt"][0]
    policies = {name: (found.get("DeletionPolicy"), found.get("UpdateReplacePolicy")) for name, found in kept.items()}
    retained = {name for name, found in kept.items() if found["Type"] in RETAINED or "NetworkDatabase" in name} | {own}
    assert {policies[name] for name in retained} == {("RetainExceptOnCreate", "Retain")}
    assert sum("NetworkDatabase" in name for name in retained) == 2


def test_with_removal_policy_destroy_nothing_is_retained_or_protected(
    stack: cdk.Stack, fleet_network: FleetNetwork, find: Find
) -> None:
    SlurmDatabase(stack, "Database", network=fleet_network, removal_policy=cdk.RemovalPolicy.DESTROY)
    assert only(find("AWS::RDS::DBCluster"))["Properties"]["DeletionProtection"] is False
    assert {found.get("DeletionPolicy") for found in find(*RETAINED[:-1]).values()} == {"Delete"}
    assert only(find("AWS::EC2::VPC")).get("DeletionPolicy") is None


@pytest.mark.parametrize("engine", ["aurora-mysql", "mysql"])
def test_with_removal_policy_snapshot_only_the_data_is_retained(
    stack: cdk.Stack, fleet_network: FleetNetwork, find: Find, engine: str
) -> None:
    database = SlurmDatabase(
        stack,
        "Database",
        SlurmDatabaseSpec(engine=engine),
        network=fleet_network,
        removal_policy=cdk.RemovalPolicy.SNAPSHOT,
    )
    policies = {name: found.get("DeletionPolicy") for name, found in find(*RETAINED[:-1]).items()}
    assert policies.pop(stack.get_logical_id(database.resource)) == "Snapshot"
    assert set(policies.values()) == {"Delete"}


def test_a_standby_is_a_second_server(stack: cdk.Stack, network: Network, find: Find) -> None:
    SlurmDatabase(stack, "Aurora", SlurmDatabaseSpec(standby=True), network=network)
    SlurmDatabase(stack, "Mysql", SlurmDatabaseSpec(engine="mysql", standby=True), network=network)
    servers = find("AWS::RDS::DBInstance")
    assert sum(name.startswith("Aurora") for name in servers) == 2
    assert [found["Properties"].get("MultiAZ") for name, found in servers.items() if name.startswith("Mysql")] == [True]


@pytest.mark.parametrize(("engine", "family"), [("mysql", "mysql8.4"), ("mariadb", "mariadb11.4")])
def test_an_rds_instance(stack: cdk.Stack, network: Network, find: Find, engine: str, family: str) -> None:
    database = SlurmDatabase(
        stack, "Database", SlurmDatabaseSpec(engine=engine, encryption_key=FleetKey(stack, "Key")), network=network
    )
    instance = only(find("AWS::RDS::DBInstance"))["Properties"]
    assert (instance["Engine"], instance["DBInstanceClass"]) == (engine, "db.t4g.medium")
    assert (instance["AllocatedStorage"], instance["MaxAllocatedStorage"], instance["StorageType"]) == (
        "20",
        100,
        "gp3",
    )
    assert (instance["StorageEncrypted"], instance["PubliclyAccessible"], instance["Port"]) == (True, False, "3306")
    assert "KmsKeyId" in instance
    group = only(find("AWS::RDS::DBParameterGroup"))["Properties"]
    assert (group["Family"], group["Parameters"]["require_secure_transport"]) == (family, "1")
    assert stack.resolve(database.endpoint)["Fn::GetAtt"][1] == "Endpoint.Address"


def test_one_key_encrypts_storage_and_secrets(stack: cdk.Stack, network: Network, find: Find) -> None:
    key = FleetKey(stack, "Key")
    SlurmDatabase(stack, "Database", SlurmDatabaseSpec(encryption_key=key), network=network)
    arn = stack.resolve(key.key_arn)
    found = find("AWS::RDS::DBCluster", "AWS::SecretsManager::Secret").values()
    assert [one["Properties"]["KmsKeyId"] for one in found] == [arn] * 3


def test_clients_without_tls_can_be_allowed(stack: cdk.Stack, network: Network, find: Find) -> None:
    SlurmDatabase(stack, "Database", SlurmDatabaseSpec(require_tls=False), network=network)
    group = only(find("AWS::RDS::DBClusterParameterGroup"))["Properties"]
    assert group["Parameters"]["require_secure_transport"] == "OFF"


def test_all_errors_are_reported_before_anything_is_created(stack: cdk.Stack, fleet_network: FleetNetwork) -> None:
    with pytest.raises(FleetError) as error:
        SlurmDatabase(
            stack,
            "Database",
            SlurmDatabaseSpec(min_capacity=0.1, user_name="rdsadmin", storage_gib=5),
            network=fleet_network,
        )
    assert {problem.path[0] for problem in error.value.problems} == {"min_capacity", "user_name", "storage_gib"}
    assert stack.node.try_find_child("Database") is None
    assert fleet_network.node.try_find_child("Database") is None


def test_an_existing_network_with_one_az_requires_subnets(stack: cdk.Stack, find: Find) -> None:
    network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets={"usw2-az4": ONE})
    )
    with pytest.raises(FleetError) as error:
        SlurmDatabase(stack, "Database", network=network)
    assert [problem.code.value for problem in error.value.problems] == ["LF699"]
    subnets = [ec2.Subnet.from_subnet_id(stack, f"S{n}", id) for n, id in enumerate((ONE, TWO))]
    SlurmDatabase(stack, "Database", SlurmDatabaseSpec(subnets=subnets), network=network)
    assert only(find("AWS::RDS::DBSubnetGroup"))["Properties"]["SubnetIds"] == [ONE, TWO]


def test_in_an_existing_network_with_two_azs_its_subnets_are_used(stack: cdk.Stack, find: Find) -> None:
    subnets = {"usw2-az4": ONE, "usw2-az1": TWO, "usw2-az2": THREE}
    network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=subnets)
    )
    SlurmDatabase(stack, "Database", network=network)
    assert only(find("AWS::RDS::DBSubnetGroup"))["Properties"]["SubnetIds"] == [ONE, TWO]


def test_grant_read_secret_covers_this_secret_only(stack: cdk.Stack, network: Network, find: Find) -> None:
    database = SlurmDatabase(stack, "Database", network=network)
    role = iam.Role(stack, "Analyst", assumed_by=iam.AccountRootPrincipal())  # pyright: ignore[reportArgumentType]
    database.grant_read_secret(role)
    statements = only(find("AWS::IAM::Policy"))["Properties"]["PolicyDocument"]["Statement"]
    (statement,) = statements
    assert set(statement["Action"]) == {"secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"}
    assert statement["Resource"] == stack.resolve(database.credentials_secret.secret_arn)


@pytest.mark.parametrize(
    ("engine", "dimension"), [("aurora-mysql", "DBClusterIdentifier"), ("mysql", "DBInstanceIdentifier")]
)
def test_metrics_have_the_dimension_of_their_engine(
    stack: cdk.Stack, network: Network, engine: str, dimension: str
) -> None:
    database = SlurmDatabase(stack, "Database", SlurmDatabaseSpec(engine=engine), network=network)
    metric = database.metric_connections()
    assert (metric.namespace, metric.metric_name, metric.statistic) == ("AWS/RDS", "DatabaseConnections", "Maximum")
    assert metric.dimensions is not None
    assert stack.resolve(metric.dimensions) == {dimension: stack.resolve(database.resource.ref)}
    assert database.metric_cpu().metric_name == "CPUUtilization"
