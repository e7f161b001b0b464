"""The bucket that HyperPod's nodes take their scripts from."""

import hashlib
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.access_logging import log_access
from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.data_file import load
from llm_fleet.held import hold
from llm_fleet.rules.bundle import bucket_name
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.tokens import is_unresolved

_CUT_HASH = 6


class LifecycleBucket(Construct):
    """A private, versioned bucket for lifecycle bundles, named `sagemaker-<name_part>-<8 characters>`.

    The last part is of the stack's own id, so that a new stack does not clash with the bucket that an earlier one
    left behind. Retained when the stack goes: nodes of a running cluster may still start from it.

    It is retained even when the stack's first deployment fails, unless `removal_policy` says otherwise: by then a
    bundle may lie in it, and CloudFormation, which cannot delete a bucket with objects, would be stuck half way back.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name_part: str,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the bucket.

        `name_part`: what it is for, e.g. the fleet's name; a long one is cut and ends with a hash.
        `encryption_key`: default, S3's own keys. `access_log_bucket`: default, no server access logs; the bundle
        holds no secret and CloudTrail records who changes it. `removal_policy`: `RETAIN_ON_UPDATE_OR_DELETE` suits a
        stack that publishes no bundle itself.
        Raises `FleetError` when S3 would refuse the name.
        """
        super().__init__(scope, id)
        facts = load("lifecycle")
        name = f"{facts['bucket_prefix']}{_fit(name_part)}-"
        problems = bucket_name(name + "0" * facts["bucket_name_unique_part"])
        raise_problems((problem.under("name_part") for problem in problems), subject=self.node.path)
        bucket = s3.Bucket(
            self,
            "Resource",
            bucket_name=name + _stack_part(cdk.Stack.of(self)),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=encryption_key is not None or None,
            encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=removal_policy,
            versioned=True,
        )
        hold(bucket)
        if access_log_bucket is not None:
            log_access(bucket, to=access_log_bucket, prefix="lifecycle-bucket/")
        self.bucket = cast(s3.IBucket, bucket)
        """The bucket itself."""
        self._acknowledge(logged=access_log_bucket is not None, encrypted=encryption_key is not None)

    @property
    def bucket_name(self) -> str:
        """The name, a token."""
        return self.bucket.bucket_name

    def _acknowledge(self, *, logged: bool, encrypted: bool) -> None:
        acknowledge(
            self,
            "every deployment writes the bundle anew from the scripts in the package",
            "NIST.800.53.R5-S3BucketReplicationEnabled",
        )
        if not logged:
            acknowledge(
                self,
                "the bundle holds no secret and CloudTrail records who changes it; `access_log_bucket` turns logs on",
                "AwsSolutions-S1",
                "NIST.800.53.R5-S3BucketLoggingEnabled",
            )
        if not encrypted:
            acknowledge(
                self,
                "the bundle holds no secret and is encrypted with S3's own keys; `encryption_key` takes another",
                "NIST.800.53.R5-S3DefaultEncryptionKMS",
            )


def _fit(name_part: str) -> str:
    """Return `name_part`, cut with a hash at its end where the bucket name would be too long."""
    facts = load("lifecycle")
    room = facts["bucket_name_max"] - len(facts["bucket_prefix"]) - facts["bucket_name_unique_part"] - len("-")
    if is_unresolved(name_part) or len(name_part) <= room:
        return name_part
    digest = hashlib.sha256(name_part.encode()).hexdigest()[:_CUT_HASH]
    return f"{name_part[: room - _CUT_HASH - 1].rstrip('-.')}-{digest}"


def _stack_part(stack: cdk.Stack) -> str:
    """Return the first block of the GUID in the stack's ARN (`arn:…:stack/<name>/<guid>`): 8 characters."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))
    return cdk.Fn.select(0, cdk.Fn.split("-", guid))
