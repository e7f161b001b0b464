"""What storage synthesizes passes every checker that a careful user would run."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks
from cfnlint.api import ManualArgs, lint
from cloudformation_validate import RegoEngine, Severity

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.storage.access_log_bucket import AccessLogBucket
from llm_fleet.storage.data_bucket import DataBucket
from llm_fleet.storage.fleet_key import FleetKey
from llm_fleet.storage.lustre_file_system import LustreFileSystem
from llm_fleet.storage.open_zfs_file_system import OpenZfsFileSystem


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """All that storage has, in a stack of its own beside that of the network."""
    key = FleetKey(stack, "Key", alias="alias/fleet")
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"], encryption_key=key)
    access_logs = AccessLogBucket(stack, "AccessLogs")
    data = DataBucket(stack, "Data", encryption_key=key, access_log_bucket=access_logs)
    DataBucket(stack, "Models")
    events = logs.LogGroup(stack, "Events", log_group_name="/aws/fsx/fleet", encryption_key=key)
    fsx = LustreFileSystem(
        stack, "Fsx", network=network, storage_capacity_gib=19200, encryption_key=key, log_group=events
    )
    fsx.add_data_repository("Corpus", bucket=data, prefix="corpus/", file_system_path="/corpus")
    LustreFileSystem(stack, "Scratch", network=network, deployment_type="SCRATCH_2")
    LustreFileSystem(stack, "Cold", network=network, storage_type="INTELLIGENT_TIERING", encryption_key=key)
    LustreFileSystem(stack, "Slow", network=network, deployment_type="PERSISTENT_1", storage_type="HDD")
    OpenZfsFileSystem(stack, "Home", network=network, encryption_key=key)
    return stack


def check_with_nag(app: cdk.App) -> None:
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    app.synth()


def test_cdk_nag_finds_nothing(app: cdk.App, everything: cdk.Stack):
    check_with_nag(app)


def test_cdk_nag_would_have_found_something(app: cdk.App, stack: cdk.Stack):
    s3.Bucket(stack, "Careless")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        check_with_nag(app)


def test_cfn_lint_finds_nothing(app: cdk.App, everything: cdk.Stack):
    template = app.synth().get_stack_by_name(everything.stack_name).template
    assert lint(json.dumps(template), config=ManualArgs(regions=["us-west-2"])) == []


def test_cloudformation_validate_finds_nothing(app: cdk.App, everything: cdk.Stack):
    path = app.synth().get_stack_by_name(everything.stack_name).template_full_path
    found = RegoEngine().validate_template(path).diagnostics  # pyright: ignore[reportUnknownMemberType]
    assert [f"{d.rule_id} {d.message}" for d in found if d.severity is not Severity.INFO] == []
