"""A fleet with a database for accounting and a HyperPod cluster that uses it, deployed to a local emulation."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tools.synth_environment import cdk_context

FLEET = """
fleet: records
region: us-west-2
network: {az: usw2-az4}
storage: {slurm_database: {}}
clusters:
  train:
    kind: hyperpod
    accounting: slurm_database
    lifecycle: none
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.c5.large, count: 1, partition: c5}
"""


class Deployed:
    """The fleet as boto3 sees it."""

    def __init__(self, aws: LocalAws, assembly: Path) -> None:
        self.aws = aws
        self.assembly = assembly
        (self.database,) = aws.client("rds").describe_db_clusters()["DBClusters"]
        self.cluster = aws.client("sagemaker").describe_cluster(ClusterName="train")
        self.accounting: dict[str, Any] = self.cluster["Orchestrator"]["Slurm"]["AccountingDatabase"]

    def secrets(self) -> dict[str, str]:
        """The text of each secret by what it is for."""
        client = self.aws.client("secretsmanager")
        return {
            one["Description"].rsplit(" ", 1)[-1]: client.get_secret_value(SecretId=one["ARN"])["SecretString"]
            for one in client.list_secrets()["SecretList"]
        }


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    """The fleet, for all tests here; the last of them destroys it."""
    folder = tmp_path_factory.mktemp("records") / "cdk.out"
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, parse_fleet(FLEET), account="123456789012")
    app.synth()
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        report = aws.deploy(folder)
        assert report.succeeded, report
        yield Deployed(aws, folder)


def test_the_cluster_uses_the_database(deployed: Deployed) -> None:
    assert deployed.database["Status"] == "available"
    assert deployed.accounting["Endpoint"] == deployed.database["Endpoint"]
    guid = deployed.aws.client("cloudformation").describe_stacks(StackName="records-train")["Stacks"][0]["StackId"]
    assert deployed.accounting["Name"] == f"slurm_acct_db_{guid.rsplit('/', 1)[-1].split('-')[0]}"


def test_both_secrets_hold_one_password(deployed: Deployed) -> None:
    secrets = deployed.secrets()
    credentials = json.loads(secrets["HyperPod"])
    assert credentials == {"username": "slurm", "password": secrets["ParallelCluster"]}
    assert len(secrets["ParallelCluster"]) == 40
    assert secrets["ParallelCluster"].isalnum()


def test_the_password_is_in_no_template_and_no_event(deployed: Deployed) -> None:
    password = deployed.secrets()["ParallelCluster"]
    client = deployed.aws.client("cloudformation")
    for name in ("records-network", "records-storage", "records-database", "records-train"):
        reported = [
            client.get_template(StackName=name)["TemplateBody"],
            client.describe_stacks(StackName=name)["Stacks"],
            deployed.aws.events(name),
        ]
        assert password not in json.dumps(reported, default=str)
    assert not [
        path for path in deployed.assembly.rglob("*") if path.is_file() and password.encode() in path.read_bytes()
    ]


def test_the_nodes_may_read_their_secret_and_no_other(deployed: Deployed) -> None:
    """Read from the policy: moto does not use resources of Secrets Manager when it checks a call."""
    iam = deployed.aws.client("iam")
    role = deployed.cluster["InstanceGroups"][0]["ExecutionRole"].rsplit("/", 1)[-1]
    statements: list[dict[str, Any]] = []
    for attached in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        version = iam.get_policy(PolicyArn=attached["PolicyArn"])["Policy"]["DefaultVersionId"]
        found = iam.get_policy_version(PolicyArn=attached["PolicyArn"], VersionId=version)["PolicyVersion"]
        statements += found["Document"]["Statement"]
    reading = [one["Resource"] for one in statements if "secretsmanager:GetSecretValue" in str(one["Action"])]
    assert reading == [deployed.accounting["SecretArn"]]
    decrypting = [one["Resource"] for one in statements if one["Action"] == "kms:Decrypt"]
    assert deployed.database["KmsKeyId"] in decrypting


def test_nodes_reach_the_database_and_no_one_else_does(deployed: Deployed) -> None:
    ec2 = deployed.aws.client("ec2")
    (group,) = [one["VpcSecurityGroupId"] for one in deployed.database["VpcSecurityGroups"]]
    (subnet_group,) = deployed.aws.client("rds").describe_db_subnet_groups()["DBSubnetGroups"]
    zones = {one["SubnetAvailabilityZone"]["Name"] for one in subnet_group["Subnets"]}
    assert len(zones) == 2
    subnet_id = subnet_group["Subnets"][0]["SubnetIdentifier"]
    database = Place(groups=(group,), subnet_id=subnet_id)
    vpc = deployed.cluster["VpcConfig"]
    node = Place(groups=tuple(vpc["SecurityGroupIds"]), subnet_id=vpc["Subnets"][0])
    reach = Reachability(ec2)
    assert reach.port(node, database, 3306) == []
    assert reach.port(node, database, 22) != []
    assert reach.port(database, node, 3306) != []
    assert reach.default_route(subnet_id) is None


def test_a_second_deployment_changes_nothing_and_a_first_destruction_keeps_the_records(deployed: Deployed) -> None:
    again = deployed.aws.deploy(deployed.assembly)
    assert again.succeeded
    assert str(again).count("(no changes)") == 4
    assert deployed.aws.recorded() == []
    gone = deployed.aws.destroy(deployed.assembly, unprotect=True)
    assert gone.succeeded
    (kept,) = deployed.aws.client("rds").describe_db_clusters()["DBClusters"]
    assert kept["DBClusterIdentifier"] == deployed.database["DBClusterIdentifier"]
    assert len(deployed.aws.client("rds").describe_db_instances()["DBInstances"]) == 1
    assert len(deployed.secrets()) == 2
