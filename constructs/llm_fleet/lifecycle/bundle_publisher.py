"""The function that puts lifecycle bundles in their buckets while a stack is deployed. One a stack."""

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.lifecycle.content import write_zip
from llm_fleet.lifecycle.script_folder import read_scripts

_ID = "LlmFleetBundlePublisher"
_SOURCES = Path(__file__).parent / "publisher"


class BundlePublisher(Construct):
    """A small Lambda function of our own: it copies, verifies and fills in, and needs no layer.

    The CDK's BucketDeployment would cost a 22 MB layer and cannot verify what it wrote.
    """

    def __init__(self, scope: Construct, id: str, *, log_encryption_key: kms.IKey | None = None) -> None:
        """Make the function, its role and its log group.

        `log_encryption_key`: default, CloudWatch's own encryption; a key must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        log_group = logs.CfnLogGroup(
            self,
            "Logs",
            kms_key_id=log_encryption_key.key_arn if log_encryption_key else None,
            retention_in_days=90,
        )
        # A managed policy and not the role's default one: it exists before the role does, so before the first run.
        self._policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What the publisher of lifecycle bundles may do",
            statements=[
                iam.PolicyStatement(
                    sid="Logs",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[log_group.attr_arn],
                )
            ],
        )
        role = iam.Role(
            self,
            "Role",
            description="Role of the function that publishes lifecycle bundles",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("lambda.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, self._policy)],
        )
        code = _code(self)
        # L1: the L2 function loads eight more modules of the CDK at synth, and gives nothing that is used here.
        self.function = lambda_.CfnFunction(
            self,
            "Resource",
            architectures=["arm64"],
            code=lambda_.CfnFunction.CodeProperty(s3_bucket=code.s3_bucket_name, s3_key=code.s3_object_key),
            description="Puts a lifecycle bundle in its bucket before the cluster is created",
            handler="publisher.handler.handler",
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(log_group=log_group.ref),
            memory_size=256,
            role=role.role_arn,
            runtime="python3.13",
            timeout=180,
        )
        """The function itself."""
        self._wildcards = {log_group.attr_arn: "the streams of its own log group are named by Lambda"}
        acknowledge_wildcards(self._policy, lambda: self._wildcards)
        self._acknowledge(encrypted=log_encryption_key is not None)

    @classmethod
    def of(cls, scope: Construct, *, log_encryption_key: kms.IKey | None = None) -> "BundlePublisher":
        """Return the publisher of the stack that holds `scope`; the first caller makes it, with its own settings."""
        stack = cdk.Stack.of(scope)
        found = stack.node.try_find_child(_ID)
        if isinstance(found, cls):
            return found
        return cls(stack, _ID, log_encryption_key=log_encryption_key)

    def allow(self, number: str, *, asset: s3_assets.Asset, bucket: s3.IBucket, root: str) -> None:
        """Let it read the archive `asset` and write below `root` in `bucket`; `number` makes statement ids unique."""
        archive = asset.bucket.arn_for_objects(asset.s3_object_key)
        objects = bucket.arn_for_objects(f"{root}/*")
        statements = [
            iam.PolicyStatement(sid=f"Read{number}", actions=["s3:GetObject"], resources=[archive]),
            iam.PolicyStatement(sid=f"Write{number}", actions=["s3:PutObject"], resources=[objects]),
        ]
        if bucket.encryption_key:
            statements.append(
                iam.PolicyStatement(
                    sid=f"Key{number}",
                    actions=["kms:GenerateDataKey"],
                    resources=[bucket.encryption_key.key_arn],
                )
            )
        self._policy.add_statements(*statements)
        self._wildcards[objects] = "the rest of the key is the bundle's hash, worked out when it is published"

    def _acknowledge(self, *, encrypted: bool) -> None:
        acknowledge(
            self,
            "runs only while the stack is deployed, once a bundle, and answers CloudFormation itself",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )
        acknowledge(
            self,
            "talks to S3 and CloudFormation only; in a VPC it would need a way out of it",
            "NIST.800.53.R5-LambdaInsideVPC",
        )
        acknowledge(
            self,
            "a supported runtime of the versions that this code is tested with; each release of llm-fleet looks again",
            "AwsSolutions-L1",
        )
        if not encrypted:
            acknowledge(
                self,
                "its log holds object keys and errors, encrypted by CloudWatch; `log_encryption_key` takes another key",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )


def _code(scope: Construct) -> s3_assets.Asset:
    """Return the function's archive, the same from wheel and checkout, whatever caches lie beside the sources."""
    files = read_scripts(_SOURCES)
    digest = hashlib.sha256(b"".join(file.path.encode() + file.data for file in files)).hexdigest()
    with TemporaryDirectory() as folder:
        archive = Path(folder, "publisher.zip")
        write_zip(files, archive, below="publisher/")
        return s3_assets.Asset(scope, "Code", path=str(archive), asset_hash=digest)
