"""No checker finds anything in a cluster with users, limits, a directory and sessions."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet import (
    ClusterUser,
    Directory,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    NetworkSpec,
    SessionDocument,
    SlurmAccount,
)
from tests.clean import all_findings

PRINCIPAL: Any = iam.AccountPrincipal("111122223333")
READER = "arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


def _directory(stack: cdk.Stack) -> Directory:
    key = kms.Key.from_key_arn(stack, "ReaderKey", KEY)
    secret = secretsmanager.Secret.from_secret_attributes(
        stack, "Reader", secret_complete_arn=READER, encryption_key=key
    )
    return Directory(
        domain="corp.example.com",
        uris=["ldaps://ldap.corp.example.com"],
        base_dn="dc=corp,dc=example,dc=com",
        bind_dn="cn=reader,dc=corp,dc=example,dc=com",
        bind_secret=secret,
        certificate="/etc/ssl/certs/corp.pem",
        sssd_on_image=True,
    )


def test_no_checker_finds_anything() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "People", env=cdk.Environment(account="111122223333", region="us-west-2"))
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    cluster = HyperPodCluster(
        stack,
        "Train",
        HyperPodClusterSpec(
            groups=[InstanceGroup.controller("ml.m5.xlarge", name="controller")],
            users=[ClusterUser(name="ada", uid=2001, slurm_account="research")],
            slurm_accounts=[SlurmAccount(name="research", max_jobs=8, grp_tres={"node": 8})],
            directory=_directory(stack),
        ),
        network=network,
    )
    sessions = SessionDocument(
        stack,
        "Sessions",
        log_group=logs.LogGroup.from_log_group_name(stack, "Log", "/sessions"),
        log_bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "demo-sessions"),
        key=kms.Key.from_key_arn(stack, "SessionKey", KEY),
    )
    cluster.grants.session_as(iam.Role(stack, "Ada", assumed_by=PRINCIPAL), "ada", document=sessions)
    sessions.grant_nodes(cluster)
    assert all_findings(app) == []
