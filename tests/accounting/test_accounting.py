"""Accounting of a ParallelCluster: its configuration, permissions, security group rules, and the schema's name."""

import re

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet import Accounting, FleetKey, SlurmDatabase, SlurmDatabaseSpec
from llm_fleet.accounting.accounting import (
    head_node_statements,
    open_accounting_ports,
    provider_statements,
    with_schema,
)
from llm_fleet.accounting.database_server import parallelcluster_schema
from llm_fleet.network.network import Network
from llm_fleet.rules.slurm_database import check_accounting_fields
from tests.accounting.conftest import Find

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
GUID = re.compile(r"\{'Fn::Select': \[0, \{'Fn::Split': \['-', .*'AWS::StackId'.*\}\]\}")


@pytest.fixture
def database(stack: cdk.Stack, network: Network) -> SlurmDatabase:
    return SlurmDatabase(stack, "Database", SlurmDatabaseSpec(encryption_key=FleetKey(stack, "Key")), network=network)


def test_a_database_gives_the_accounting_of_a_parallelcluster(stack: cdk.Stack, database: SlurmDatabase) -> None:
    accounting = database.for_parallelcluster()
    assert check_accounting_fields(accounting) == []
    assert stack.resolve(accounting.database_uri)["Fn::Join"][1] == [stack.resolve(database.endpoint), ":3306"]
    assert accounting.user_name == "slurm"
    assert accounting.password_secret is database.password_secret
    assert accounting.munge_key_secret is None


def test_the_schema_name_has_the_cluster_name_with_its_hash_and_the_stack_guid(
    stack: cdk.Stack, database: SlurmDatabase
) -> None:
    name = with_schema(database.for_parallelcluster(), stack, cluster_name="Train-0123abcd").database_name
    assert name is not None
    (prefix, guid) = stack.resolve(name)["Fn::Join"][1]
    assert prefix == "slurm_acct_db_train_0123abcd_"
    assert GUID.search(str(guid))
    assert re.fullmatch("[0-9a-z_]+", prefix)


def test_the_longest_schema_name_fits(stack: cdk.Stack) -> None:
    name = parallelcluster_schema(stack, "A" * 31 + "-0123abcd")
    fixed = "".join(part for part in stack.resolve(name)["Fn::Join"][1] if isinstance(part, str))
    assert len(fixed) + len("62dd2436") <= 64


def test_clusters_whose_names_are_tokens_have_different_schemas(stack: cdk.Stack) -> None:
    one, other = (parallelcluster_schema(Construct(stack, id), cdk.Aws.STACK_NAME) for id in ("One", "Other"))
    names = [stack.resolve(name)["Fn::Join"][1][0] for name in (one, other)]
    assert names[0] != names[1]
    assert all(re.fullmatch("slurm_acct_db_[0-9a-f]{8}_", name) for name in names)


def test_a_given_schema_name_is_kept(stack: cdk.Stack, database: SlurmDatabase) -> None:
    accounting = database.for_parallelcluster(database_name="ours")
    assert with_schema(accounting, stack, cluster_name="train-0123abcd") is accounting


def test_clusters_are_allowed_and_the_database_stack_does_not_depend_on_them(
    app: cdk.App, stack: cdk.Stack, network: Network, database: SlurmDatabase
) -> None:
    theirs = cdk.Stack(app, "Cluster", env=cdk.Environment(account=stack.account, region=stack.region))
    own = ec2.SecurityGroup(theirs, "Own", vpc=network.vpc)
    accounting = database.for_parallelcluster()
    rules = open_accounting_ports(accounting, theirs, [network.security_group, own])
    # All clusters share the network's group: its rule is created once, in the database's stack. The rule of the
    # cluster's own group is in the cluster's stack.
    assert [cdk.Stack.of(rule) for rule in rules] == [stack, theirs]
    assert open_accounting_ports(accounting, theirs, [network.security_group])[0] is rules[0]
    app.synth()
    assert stack.dependencies == []


def test_permissions_in_addition_to_those_of_parallelcluster(stack: cdk.Stack, database: SlurmDatabase) -> None:
    accounting = database.for_parallelcluster()
    (decrypt,) = (stack.resolve(one.to_statement_json()) for one in head_node_statements(accounting))
    assert decrypt["Action"] == "kms:Decrypt"
    assert decrypt["Resource"]["Fn::GetAtt"][0].startswith("Key")
    assert decrypt["Condition"] == {"StringEquals": {"kms:ViaService": "secretsmanager.us-west-2.amazonaws.com"}}
    (look_up,) = (stack.resolve(one.to_statement_json()) for one in provider_statements(accounting))
    assert look_up["Action"] == "secretsmanager:DescribeSecret"
    assert look_up["Resource"] == stack.resolve(database.password_secret.secret_arn)


def test_an_external_slurmdbd(stack: cdk.Stack, network: Network, find: Find) -> None:
    key = kms.Key.from_key_arn(stack, "Key", KEY)
    munge = secretsmanager.Secret.from_secret_attributes(stack, "Munge", secret_complete_arn=SECRET, encryption_key=key)
    accounting = Accounting(
        slurmdbd_host="slurmdbd.example.com",
        munge_key_secret=munge,
        connections=ec2.SecurityGroup(stack, "Dbd", vpc=network.vpc),
    )
    assert check_accounting_fields(accounting) == []
    assert (accounting.port, accounting.effective_port, accounting.database_uri) == (None, 6819, None)
    assert with_schema(accounting, stack, cluster_name="train-0123abcd").database_name is None
    actions = [one.to_statement_json()["Action"] for one in provider_statements(accounting)]
    assert actions == ["secretsmanager:GetSecretValue", "kms:Decrypt"]
    open_accounting_ports(accounting, stack, [network.security_group])
    ports = [rule["Properties"].get("FromPort") for rule in find("AWS::EC2::SecurityGroupIngress").values()]
    assert 6819 in ports


def test_without_connections_and_key_there_are_no_rules_and_statements(stack: cdk.Stack, network: Network) -> None:
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Password", SECRET)
    accounting = Accounting(endpoint="db.example.com", password_secret=secret)
    assert accounting.database_uri == "db.example.com:3306"
    assert open_accounting_ports(accounting, stack, [network.security_group]) == []
    assert head_node_statements(accounting) == []
