"""What a ParallelCluster's accounting needs of the CDK: open ports, permissions, the name of its schema."""

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.accounting.accounting_database import let_in
from llm_fleet.accounting.database_server import parallelcluster_schema
from llm_fleet.references import guard_of
from llm_fleet.spec.references import SECRET
from llm_fleet.spec.slurm_database import Accounting


def with_schema(accounting: Accounting, scope: Construct, *, cluster_name: str) -> Accounting:
    """Return `accounting` with its schema named for the cluster at `scope`; `cluster_name` is the one with the hash."""
    if accounting.endpoint is None or accounting.database_name is not None:
        return accounting
    return accounting.model_copy(update={"database_name": parallelcluster_schema(scope, cluster_name)})


def open_accounting_ports(
    accounting: Accounting, scope: Construct, security_groups: Sequence[ec2.ISecurityGroup]
) -> list[Construct]:
    """Let the head node of the cluster at `scope`, a member of `security_groups`, in, and return the rules.

    The cluster must depend on them: slurmdbd signs in as soon as the head node boots.
    """
    guard, port = guard_of(scope, "AccountingGuard", accounting.connections), accounting.effective_port
    return [] if guard is None or port is None else let_in(scope, security_groups, guard, port=port)


def head_node_statements(accounting: Accounting) -> list[iam.PolicyStatement]:
    """Return what the head node must be allowed besides what ParallelCluster allows it.

    ParallelCluster lets it read both secrets, but no key that encrypts them.
    """
    return _decrypt(accounting.secrets, "AccountingSecretKey")


def provider_statements(accounting: Accounting) -> list[iam.PolicyStatement]:
    """Return what the provider must be allowed: its validators look the secrets up, and read the munge key."""
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
    """Return the use of the keys of `secrets`, through Secrets Manager alone; nothing for keys of AWS's own.

    Of a secret that is named by its ARN the key is not known.
    """
    keys = {secret.encryption_key.key_arn: secret for secret in secrets if getattr(secret, "encryption_key", None)}
    if not keys:
        return []
    service = f"secretsmanager.{cdk.Stack.of(next(iter(keys.values()))).region}.amazonaws.com"
    conditions = {"StringEquals": {"kms:ViaService": service}}
    return [iam.PolicyStatement(sid=sid, actions=["kms:Decrypt"], resources=list(keys), conditions=conditions)]
