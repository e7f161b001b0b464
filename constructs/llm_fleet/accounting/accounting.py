"""The dependencies of an external database for Slurm's accounting: subnets, secrets, ports and permissions."""

import json
from collections.abc import Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.accounting.database_server import parallelcluster_schema
from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import allow_traffic, rule_description
from llm_fleet.references import guard_of, hold
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.references import SECRET
from llm_fleet.spec.slurm_database import Accounting


class DatabasePlace(Construct):
    """A subnet group, and a security group without ingress rules until a cluster is given the database."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        subnets: Sequence[ec2.ISubnet],
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Create both in the network's VPC; they are retained or deleted with the database."""
        super().__init__(scope, id)
        owner = f"Slurm accounting database {scope.node.id}"
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=rule_description(owner),
            # It opens no connection, and the CDK's default would let it open any.
            allow_all_outbound=False,
        )
        group.apply_removal_policy(removal_policy)
        hold(group)
        self.security_group: ec2.ISecurityGroup = group
        self.subnet_group = rds.CfnDBSubnetGroup(
            self,
            "SubnetGroup",
            db_subnet_group_description=owner,
            subnet_ids=[subnet.subnet_id for subnet in subnets],
        )
        self.subnet_group.apply_removal_policy(removal_policy)
        if removal_policy != cdk.RemovalPolicy.DESTROY:
            network.keep()


_NOT_ROTATED = (
    "slurmdbd reads its password when it starts, and each service delivers a new one differently: a "
    "rotation alone would stop the accounting of every cluster. How to change it is in docs/constructs/accounting.md"
)


class DatabaseSecrets(Construct):
    """A generated password: as JSON with its user name, and as plain text.

    HyperPod reads JSON of `username` and `password`, ParallelCluster a text that is the password. The password is made
    by Secrets Manager when the stack is deployed, and reaches the second secret and the database by a dynamic
    reference: it is in no template. Letters and digits only, as slurmdbd.conf ends a value at `#` and blanks, and RDS
    rejects `/`, `"` and `@`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        user_name: str,
        encryption_key: kms.IKey | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Create both secrets. `encryption_key`: `None` is the key `aws/secretsmanager` of the account."""
        super().__init__(scope, id)
        owner = f"Slurm accounting database {scope.node.id}"
        credentials = secretsmanager.Secret(
            self,
            "Credentials",
            description=f"{owner}: user name and password, for HyperPod",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                secret_string_template=json.dumps({"username": user_name}),
                generate_string_key="password",
                exclude_punctuation=True,
                password_length=slurm_database_facts().password_length,
            ),
            encryption_key=encryption_key,
            removal_policy=removal_policy,
        )
        hold(credentials)
        self.master_password: str = credentials.secret_value_from_json("password").unsafe_unwrap()
        """A dynamic reference."""
        password = secretsmanager.Secret(
            self,
            "Password",
            description=f"{owner}: the password alone, for ParallelCluster",
            secret_string_value=credentials.secret_value_from_json("password"),
            encryption_key=encryption_key,
            removal_policy=removal_policy,
        )
        hold(password)
        self.credentials = cast(secretsmanager.ISecret, credentials)
        """JSON of `username` and `password`."""
        self.password = cast(secretsmanager.ISecret, password)
        """Only the password."""
        for secret in (credentials, password):
            acknowledge(secret, _NOT_ROTATED, "AwsSolutions-SMG4", "NIST.800.53.R5-SecretsManagerRotationEnabled")


def allow_database_clients(
    scope: Construct, groups: Sequence[ec2.ISecurityGroup], connections: ec2.IConnectable, *, port: int
) -> list[Construct]:
    """Let nodes in `groups`, of the cluster at `scope`, open connections to the target of `connections`.

    The rules of a group that the cluster's stack creates are in that stack, which depends on the guard's already. Those
    of a group that clusters share, and of one known by its id that any stack may import, are in the stack of the
    guard, once for all clusters that are given the same guard. A guard that is the nodes' own group needs no rule.
    """
    rules: list[Construct] = []
    for guard in connections.connections.security_groups:
        for group in groups:
            if group.security_group_id == guard.security_group_id:
                continue
            made_here = is_unresolved(group.security_group_id) and cdk.Stack.of(group) is cdk.Stack.of(scope)
            home = scope if made_here else guard
            rules.append(allow_traffic(home, group, guard, what="slurmdbd on the controller of a cluster", port=port))
    return rules


def with_schema(accounting: Accounting, scope: Construct, *, cluster_name: str) -> Accounting:
    """Return `accounting` with its schema named for the cluster at `scope`; `cluster_name` is the one with the hash."""
    if accounting.endpoint is None or accounting.database_name is not None:
        return accounting
    return accounting.model_copy(update={"database_name": parallelcluster_schema(scope, cluster_name)})


def open_accounting_ports(
    accounting: Accounting, scope: Construct, security_groups: Sequence[ec2.ISecurityGroup]
) -> list[Construct]:
    """Allow connections of the head node of the cluster at `scope`, in `security_groups`, and return the rules.

    The cluster must depend on them: slurmdbd signs in as soon as the head node boots.
    """
    guard, port = guard_of(scope, "AccountingGuard", accounting.connections), accounting.effective_port
    return [] if guard is None or port is None else allow_database_clients(scope, security_groups, guard, port=port)


def head_node_statements(accounting: Accounting) -> list[iam.PolicyStatement]:
    """Return the head node's permissions in addition to those from ParallelCluster.

    ParallelCluster lets it read both secrets, but no key that encrypts them.
    """
    return _decrypt(accounting.secrets, "AccountingSecretKey")


def provider_statements(accounting: Accounting) -> list[iam.PolicyStatement]:
    """Return the provider's permissions: its validators describe the secrets, and read the munge key."""
    statements: list[iam.PolicyStatement] = []
    if accounting.password_secret is not None:
        statements.append(_on(accounting.password_secret, "AccountingPassword", "secretsmanager:DescribeSecret"))
    if accounting.munge_key_secret is not None:
        statements.append(_on(accounting.munge_key_secret, "MungeKey", "secretsmanager:GetSecretValue"))
        statements += _decrypt([accounting.munge_key_secret], "MungeKeyKey")
    return statements


def _on(secret: Any, sid: str, action: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=[action], resources=[SECRET.name_of(secret)])


def _decrypt(secrets: Sequence[Any], sid: str) -> list[iam.PolicyStatement]:
    """Return permissions to use the keys of `secrets`, only through Secrets Manager; none for AWS managed keys.

    The key of a secret given by its ARN is unknown.
    """
    keys = {secret.encryption_key.key_arn: secret for secret in secrets if getattr(secret, "encryption_key", None)}
    if not keys:
        return []
    service = f"secretsmanager.{cdk.Stack.of(next(iter(keys.values()))).region}.amazonaws.com"
    conditions = {"StringEquals": {"kms:ViaService": service}}
    return [iam.PolicyStatement(sid=sid, actions=["kms:Decrypt"], resources=list(keys), conditions=conditions)]
