"""The function that puts lifecycle bundles in their buckets while a stack is deployed. One a stack."""

from pathlib import Path

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets

from llm_fleet.lifecycle.deployment_function import DeploymentCode, DeploymentFunction
from llm_fleet.lifecycle.script_folder import read_scripts

_SOURCES = Path(__file__).parent / "publisher"


class BundlePublisher(DeploymentFunction):
    """A small Lambda function of our own: it copies, verifies and fills in, and needs no layer.

    The CDK's BucketDeployment would cost a 22 MB layer and cannot verify what it wrote.
    """

    code = DeploymentCode(
        id="LlmFleetBundlePublisher",
        archive="publisher.zip",
        files=lambda: read_scripts(_SOURCES),
        below="publisher/",
        handler="publisher.handler.handler",
        timeout=180,
        runs_once="once a bundle",
        description="Puts a lifecycle bundle in its bucket before the cluster is created",
        policy_description="What the publisher of lifecycle bundles may do",
        role_description="Role of the function that publishes lifecycle bundles",
        unencrypted_log="its log holds object keys and errors, encrypted by CloudWatch; `log_encryption_key` takes "
        "another key",
    )

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
        reason = "the rest of the key is the bundle's hash, worked out when it is published"
        self.allow_statements(statements, wildcards={objects: reason})
