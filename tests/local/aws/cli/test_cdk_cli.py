"""The real CDK CLI against the AWS emulator: bootstrap, deploy, again, diff, update, destroy, and errors.

The CLI synthesizes once; the other assemblies are created in this process, in less than a tenth of the time.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App

from llm_fleet_local.aws.client import LocalAws
from tests.local.aws.cli.cdk_cli import DEPLOY, Cli
from tests.local.aws.cli.faulty_app import faulty_app
from tests.local.aws.cli.small_app import small_app
from tools.synth_environment import cdk_context

pytestmark = pytest.mark.cli
_AS_THE_CLI_ASKS = {
    "aws:cdk:enable-path-metadata": True,
    "aws:cdk:enable-asset-metadata": True,
    "aws:cdk:version-reporting": True,
}
"""What the CLI adds to an app's context: without it templates would differ from those that it synthesizes."""


def app_for(folder: Path) -> App:
    """Return an app that writes its assembly to `folder`."""
    return App(context={**cdk_context(), **_AS_THE_CLI_ASKS}, outdir=str(folder))


@pytest.fixture(scope="module")
def cdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    with LocalAws() as aws:
        cli = Cli(aws, tmp_path_factory.mktemp("home"))
        one = tmp_path_factory.mktemp("one")
        small_app(app_for(one))
        assert "bootstrapped" in cli(one, "bootstrap")
        yield cli


def test_the_cdk_cli_deploys_updates_and_destroys(cdk: Cli, tmp_path: Path) -> None:
    assert cdk.aws.client("s3").head_bucket(Bucket="cdk-hnb659fds-assets-123456789012-us-west-2")

    said = cdk("small_app.py", *DEPLOY)
    assert "AWS::EC2::VPC" in said, "progress is printed"
    assert "level: api" in said
    where = cdk.aws.client("ssm").describe_parameters()["Parameters"]
    names = [item["Name"] for item in where if "Where" in item["Name"]]
    value = cdk.aws.client("ssm").get_parameter(Name=names[0])["Parameter"]["Value"]
    bucket, vpc, text = value.split()
    assert text == "one"
    cdk.aws.client("s3").head_bucket(Bucket=bucket)
    subnets = cdk.aws.client("ec2").describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    assert len({subnet["AvailabilityZone"] for subnet in subnets}) == 2

    events = len(cdk.aws.events("User"))
    small = cdk.assembly("small_app.py")
    assert cdk(small, *DEPLOY).count("(no changes)") == 2
    assert len(cdk.aws.events("User")) == events

    two = tmp_path / "two"
    small_app(app_for(two), "two")
    said = cdk(two, "diff")
    assert "AWS::SSM::Parameter" in said
    assert "Number of stacks with differences: 1" in said
    assert "Could not create a change set" not in said

    cdk(two, *DEPLOY)
    assert cdk.aws.client("ssm").get_parameter(Name=names[0])["Parameter"]["Value"] == f"{bucket} {vpc} two"
    assert cdk.aws.recorded() == []

    cdk(two, "destroy", "--all", "--force")
    assert [stack["name"] for stack in cdk.aws.stacks()] == ["CDKToolkit"]
    assert cdk.aws.client("ec2").describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Vpcs"] == []
    assert bucket not in [item["Name"] for item in cdk.aws.client("s3").list_buckets()["Buckets"]]


def test_an_error_is_reported_with_the_constructs_path_before_anything_is_created(cdk: Cli, tmp_path: Path) -> None:
    faulty_app(app_for(tmp_path), "unknown property")
    done = cdk.run(tmp_path, *DEPLOY)
    assert done.returncode == 1
    assert "Early validation failed" in done.stdout + done.stderr
    assert "Faulty/Data/Resource" in done.stdout + done.stderr
    assert "unknown property Color" in done.stdout + done.stderr
    assert [event["ResourceType"] for event in cdk.aws.events("Faulty")] == ["AWS::CloudFormation::Stack"]


def test_a_failed_deployment_is_rolled_back_and_can_be_repeated(cdk: Cli, tmp_path: Path) -> None:
    faulty_app(app_for(tmp_path / "faulty"), "unknown policy")
    done = cdk.run(tmp_path / "faulty", *DEPLOY)
    assert done.returncode == 1
    assert "Faulty/Reader" in done.stdout + done.stderr
    assert "policy/NoSuchPolicy does not exist" in done.stdout + done.stderr
    assert [stack["status"] for stack in cdk.aws.stacks() if stack["name"] == "Faulty"] == ["ROLLBACK_COMPLETE"]
    assert not [item for item in cdk.aws.client("s3").list_buckets()["Buckets"] if "faulty" in item["Name"]]
    faulty_app(app_for(tmp_path / "right"))
    cdk(tmp_path / "right", *DEPLOY)
    assert [stack["status"] for stack in cdk.aws.stacks() if stack["name"] == "Faulty"] == ["CREATE_COMPLETE"]
    cdk(tmp_path / "right", "destroy", "--all", "--force")
