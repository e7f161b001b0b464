"""The real CDK CLI against the emulation: bootstrap, deploy, again, diff, update, destroy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_aws.client import LocalAws
from tools.synth_environment import ROOT, use_project_node

pytestmark = pytest.mark.cli

CDK = ROOT / "node_modules" / ".bin" / "cdk"
APP = Path(__file__).with_name("small_app.py")


class Cli:
    """Runs `cdk` on the small app, with a home of its own (the CLI caches accounts there)."""

    def __init__(self, aws: LocalAws, home: Path) -> None:
        use_project_node()
        node = Path(os.environ["JSII_NODE"])
        self.aws = aws
        self._home = home
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **aws.environment,
            "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CI": "true",
        }

    def __call__(self, *arguments: str, text: str = "one") -> str:
        app = f"{sys.executable} {APP}"
        common = ("--app", app, "--output", str(self._home / "cdk.out"), "--no-notices")
        done = subprocess.run(
            [str(CDK), *common, *arguments],
            cwd=self._home,
            env={**self._environment, "SMALL_APP_TEXT": text},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"cdk {arguments}:\n{done.stdout}\n{done.stderr}\n{self.aws.server_log[-3000:]}"
        return done.stdout + done.stderr

    def deploy(self, text: str = "one") -> str:
        return self("deploy", "--all", "--require-approval", "never", "--progress", "events", text=text)


@pytest.fixture(scope="module")
def cdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    with LocalAws() as aws:
        yield Cli(aws, tmp_path_factory.mktemp("home"))


def test_the_cdk_cli_deploys_updates_and_destroys(cdk: Cli) -> None:
    said = cdk("bootstrap")
    assert "bootstrapped" in said
    assert cdk.aws.client("s3").head_bucket(Bucket="cdk-hnb659fds-assets-123456789012-us-west-2")

    said = cdk.deploy()
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
    assert cdk.deploy().count("(no changes)") == 2
    assert len(cdk.aws.events("User")) == events

    said = cdk("diff", text="two")
    assert "AWS::SSM::Parameter" in said
    assert "Number of stacks with differences: 1" in said
    assert "Could not create a change set" not in said

    cdk.deploy("two")
    assert cdk.aws.client("ssm").get_parameter(Name=names[0])["Parameter"]["Value"] == f"{bucket} {vpc} two"
    assert cdk.aws.recorded() == []

    cdk("destroy", "--all", "--force", text="two")
    assert [stack["name"] for stack in cdk.aws.stacks()] == ["CDKToolkit"]
    assert cdk.aws.client("ec2").describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Vpcs"] == []
    assert bucket not in [item["Name"] for item in cdk.aws.client("s3").list_buckets()["Buckets"]]
