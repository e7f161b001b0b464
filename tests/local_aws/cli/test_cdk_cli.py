"""The real CDK CLI against the emulation: bootstrap, deploy, again, diff, update, destroy, and what goes wrong."""

from collections.abc import Iterator

import pytest

from local_aws.client import LocalAws
from tests.local_aws.cli.cdk_cli import DEPLOY, Cli

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def cdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    with LocalAws() as aws:
        cli = Cli(aws, tmp_path_factory.mktemp("home"))
        assert "bootstrapped" in cli("small_app.py", "bootstrap")
        yield cli


def test_the_cdk_cli_deploys_updates_and_destroys(cdk: Cli) -> None:
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

    said = cdk("small_app.py", "diff", SMALL_APP_TEXT="two")
    assert "AWS::SSM::Parameter" in said
    assert "Number of stacks with differences: 1" in said
    assert "Could not create a change set" not in said

    cdk(small, *DEPLOY)
    assert cdk.aws.client("ssm").get_parameter(Name=names[0])["Parameter"]["Value"] == f"{bucket} {vpc} two"
    assert cdk.aws.recorded() == []

    cdk(small, "destroy", "--all", "--force")
    assert [stack["name"] for stack in cdk.aws.stacks()] == ["CDKToolkit"]
    assert cdk.aws.client("ec2").describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Vpcs"] == []
    assert bucket not in [item["Name"] for item in cdk.aws.client("s3").list_buckets()["Buckets"]]


def test_a_mistake_is_told_with_the_constructs_path_before_anything_is_created(cdk: Cli) -> None:
    done = cdk.run("faulty_app.py", *DEPLOY, FAULT="unknown property")
    assert done.returncode == 1
    assert "Early validation failed" in done.stdout + done.stderr
    assert "Faulty/Data/Resource" in done.stdout + done.stderr
    assert "unknown property Colour" in done.stdout + done.stderr
    assert [event["ResourceType"] for event in cdk.aws.events("Faulty")] == ["AWS::CloudFormation::Stack"]


def test_a_failed_deployment_is_rolled_back_and_can_be_repeated(cdk: Cli) -> None:
    done = cdk.run("faulty_app.py", *DEPLOY, FAULT="unknown policy")
    assert done.returncode == 1
    assert "Faulty/Reader" in done.stdout + done.stderr
    assert "policy/NoSuchPolicy does not exist" in done.stdout + done.stderr
    assert [stack["status"] for stack in cdk.aws.stacks() if stack["name"] == "Faulty"] == ["ROLLBACK_COMPLETE"]
    assert not [item for item in cdk.aws.client("s3").list_buckets()["Buckets"] if "faulty" in item["Name"]]
    cdk("faulty_app.py", *DEPLOY)
    assert [stack["status"] for stack in cdk.aws.stacks() if stack["name"] == "Faulty"] == ["CREATE_COMPLETE"]
    cdk(cdk.assembly("faulty_app.py"), "destroy", "--all", "--force")
