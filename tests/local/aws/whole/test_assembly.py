"""A cloud assembly deployed without the CDK CLI, read, used with a role, and destroyed."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from botocore.exceptions import ClientError
from constructs import Construct

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from tools.synth_environment import cdk_context

ENVIRONMENT = cdk.Environment(account="123456789012", region="us-west-2")


class Base(cdk.Stack):
    """A network with two groups, and a bucket."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, env=ENVIRONMENT)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=["us-west-2a"],
            nat_gateways=0,
            restrict_default_security_group=False,
            gateway_endpoints={"s3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        nodes = ec2.SecurityGroup(self, "Nodes", vpc=vpc, allow_all_outbound=False)
        files = ec2.SecurityGroup(self, "Files", vpc=vpc, allow_all_outbound=False)
        nodes.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443))
        nodes.connections.allow_to(files, ec2.Port.tcp(988))
        self.bucket = s3.Bucket(self, "Data", removal_policy=cdk.RemovalPolicy.DESTROY)
        outputs = {
            "Public": vpc.public_subnets[0].subnet_id,
            "Isolated": vpc.isolated_subnets[0].subnet_id,
            "NodesGroup": nodes.security_group_id,
            "FilesGroup": files.security_group_id,
            "Bucket": self.bucket.bucket_name,
        }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)


class User(cdk.Stack):
    """A role that can read one prefix of the bucket, and a directory as an asset."""

    def __init__(self, scope: Construct, id: str, *, base: Base, asset: Path) -> None:
        super().__init__(scope, id, env=ENVIRONMENT)
        role = iam.Role(self, "Reader", assumed_by=iam.AccountPrincipal("123456789012"))  # pyright: ignore[reportArgumentType]
        base.bucket.grant_read(role, "open/*")  # pyright: ignore[reportArgumentType]
        files = assets.Asset(self, "Files", path=str(asset))
        cdk.CfnOutput(self, "Role", value=role.role_arn)
        cdk.CfnOutput(self, "AssetKey", value=files.s3_object_key)


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    asset = folder / "files"
    asset.mkdir()
    (asset / "hello.txt").write_text("hello")
    app = cdk.App(context=cdk_context(), outdir=str(folder / "cdk.out"))
    User(app, "User", base=Base(app, "Base"), asset=asset)
    return Path(app.synth().directory)


@pytest.fixture(scope="module")
def outputs(aws: LocalAws, assembly: Path) -> dict[str, str]:
    report = aws.deploy(assembly)
    assert report.succeeded, str(report)
    return {**report.outputs("Base"), **report.outputs("User")}


def test_assets_are_in_the_bootstrap_bucket(aws: LocalAws, outputs: dict[str, str]) -> None:
    bucket = "cdk-hnb659fds-assets-123456789012-us-west-2"
    body = aws.client("s3").get_object(Bucket=bucket, Key=outputs["AssetKey"])["Body"].read()
    assert body.startswith(b"PK")


def test_a_second_deployment_changes_nothing(aws: LocalAws, assembly: Path, outputs: dict[str, str]) -> None:
    before = len(aws.events("User"))
    report = aws.deploy(assembly)
    assert report.succeeded
    assert not report.changed
    assert len(aws.events("User")) == before


def test_reachability_follows_the_rules(aws: LocalAws, outputs: dict[str, str]) -> None:
    reach = Reachability(aws.client("ec2"))
    nodes, files = Place(groups=(outputs["NodesGroup"],)), Place(groups=(outputs["FilesGroup"],))
    assert reach.port(nodes, files, 988) == []
    assert len(reach.port(nodes, files, 989)) == 2
    assert len(reach.port(files, nodes, 988)) == 2
    outside = Place(groups=(), subnet_id=outputs["Public"])
    assert reach.sends(nodes, outside, 443)
    assert not reach.sends(nodes, outside, 80)
    assert len(reach.efa(outputs["NodesGroup"])) == 2
    assert (reach.default_route(outputs["Public"]) or "").startswith("igw-")
    assert reach.default_route(outputs["Isolated"]) is None
    assert (reach.gateway_endpoint(outputs["Isolated"]) or "").startswith("vpce-")
    assert reach.gateway_endpoint(outputs["Isolated"], "dynamodb") is None


def test_a_role_has_only_its_granted_permissions(aws: LocalAws, outputs: dict[str, str]) -> None:
    bucket = outputs["Bucket"]
    for key in ("open/a", "closed/a"):
        aws.client("s3").put_object(Bucket=bucket, Key=key, Body=b"x")
    with aws.as_role(outputs["Role"]) as client:
        assert client("s3").get_object(Bucket=bucket, Key="open/a")["Body"].read() == b"x"
        for action in (
            lambda: client("s3").get_object(Bucket=bucket, Key="closed/a"),
            lambda: client("s3").put_object(Bucket=bucket, Key="open/b", Body=b"x"),
            lambda: client("ec2").describe_vpcs(),
        ):
            with pytest.raises(ClientError, match=r"AccessDenied|UnauthorizedOperation|403"):
                action()
    aws.client("s3").delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "open/a"}, {"Key": "closed/a"}]})


def test_a_rejected_template_is_reported_and_nothing_is_created(
    aws: LocalAws, assembly: Path, tmp_path: Path, outputs: dict[str, str]
) -> None:
    template: dict[str, Any] = {"Resources": {"X": {"Type": "AWS::S3::Bucket", "Properties": {"BucketNam": "x"}}}}
    (tmp_path / "t.json").write_text(json.dumps(template))
    stack = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://123456789012/us-west-2",
        "properties": {"templateFile": "t.json"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"Wrong": stack}}))
    report = aws.deploy(tmp_path)
    assert not report.succeeded
    assert "BucketNam" in str(report)
    assert "Wrong" not in [item["name"] for item in aws.stacks()]


def test_destroy_leaves_nothing(aws: LocalAws, assembly: Path, outputs: dict[str, str]) -> None:
    report = aws.destroy(assembly)
    assert report.succeeded, str(report)
    assert [stack["name"] for stack in aws.stacks()] == ["CDKToolkit"]
    buckets = [item["Name"] for item in aws.client("s3").list_buckets()["Buckets"]]
    assert outputs["Bucket"] not in buckets
