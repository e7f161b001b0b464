"""What the makers of database servers are told, and what they return."""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_rds as rds

from llm_fleet.rules.slurm_database import SlurmDatabaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """A checked database, and what stands around it."""

    settings: SlurmDatabaseSettings
    description: str
    parameters: Mapping[str, str]
    subnet_group_name: str
    security_group_id: str
    master_password: str
    key_arn: str | None
    deletion_protection: bool
    removal_policy: cdk.RemovalPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseServer:
    """A server that was made."""

    resource: rds.CfnDBCluster | rds.CfnDBInstance
    """The L1 that holds the data."""
    endpoint: str
    dimensions: Mapping[str, str]
    """Of its CloudWatch metrics."""
    servers: tuple[cdk.CfnResource, ...] = ()
    """What must run beside `resource` before anybody can sign in."""
