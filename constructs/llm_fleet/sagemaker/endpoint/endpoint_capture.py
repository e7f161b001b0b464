"""What is kept of an endpoint: the log of its containers, and captured requests and answers."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint_operations import capture_facts
from llm_fleet.iam.statements import Permission
from llm_fleet.spec.buckets import BucketSpec
from llm_fleet.spec.endpoint_operations import DataCapture
from llm_fleet.storage.buckets import DataBucket

_PREFIX = "/aws/sagemaker/Endpoints"


class EndpointLog(Construct):
    """The log group that SageMaker writes to, made beforehand: one that SageMaker makes is kept for ever.

    It goes with the stack.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_name: str,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make the group. `encryption_key`: its policy must let CloudWatch Logs use it. `None`: Logs' own."""
        super().__init__(scope, id)
        self.group_name = f"{_PREFIX}/{endpoint_name}"
        """As SageMaker's guide on logs has it."""
        self.log_group = logs.CfnLogGroup(
            self,
            "Resource",
            log_group_name=self.group_name,
            retention_in_days=retention_days,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        """The L1 beneath."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        if encryption_key is None:
            acknowledge(
                self,
                "CloudWatch Logs encrypts every log group with a key of its own; servers log sizes and times of "
                "requests, and no prompt unless told to; `encryption_key` takes another",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )


_Config = sagemaker.CfnEndpointConfig
_CAPTURED = "captured"


class EndpointCapture(Construct):
    """Where captured requests and answers go, and what the endpoint's role needs for it; nothing without a capture.

    A bucket of the endpoint's own is retained: what users wrote is not thrown away with a stack.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        capture: DataCapture | None,
        endpoint_name: str,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Make a bucket where `capture` names none. `encryption_key`: of that bucket; default a key of its own."""
        super().__init__(scope, id)
        self.bucket: s3.IBucket | None = None
        """The endpoint's own bucket; `None` where another one was named, or nothing is captured."""
        self.config: sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None = None
        """What the endpoint's configuration says of it."""
        self.permissions: tuple[Permission, ...] = ()
        """What the endpoint's role must be allowed."""
        if capture is None:
            return
        key_arn = capture.encryption_key_arn
        uri = capture.uri
        if uri is None:
            bucket = DataBucket(self, "Bucket", BucketSpec(encryption_key=encryption_key))
            self.bucket = bucket
            uri = f"s3://{bucket.bucket_name}/{_CAPTURED}"
            key_arn = bucket.encryption_key.key_arn if bucket.encryption_key else None
        self.config = _config(capture, uri=uri, key_arn=key_arn)
        self.permissions = _permissions(
            f"arn:{cdk.Stack.of(self).partition}:s3:::{uri.removeprefix('s3://').rstrip('/')}/{endpoint_name}/*",
            key_arn,
        )


def _config(capture: DataCapture, *, uri: str, key_arn: str | None) -> _Config.DataCaptureConfigProperty:
    sides = [*(["Input"] if capture.inputs else []), *(["Output"] if capture.outputs else [])]
    return _Config.DataCaptureConfigProperty(
        enable_capture=True,
        initial_sampling_percentage=capture.percent,
        destination_s3_uri=uri,
        kms_key_id=key_arn,
        capture_options=[_Config.CaptureOptionProperty(capture_mode=side) for side in sides],
        # Otherwise SageMaker writes base64, which nobody can read or search.
        capture_content_type_header=_Config.CaptureContentTypeHeaderProperty(
            json_content_types=list(capture_facts().json_content_types)
        ),
    )


def _permissions(objects: str, key_arn: str | None) -> tuple[Permission, ...]:
    put = Permission(
        sid="Capture",
        actions=("s3:PutObject",),
        resources=(objects,),
        reason="SageMaker names each file of captured data by variant and time, below the endpoint's name",
    )
    if key_arn is None:
        return (put,)
    # Decrypt: S3 puts large objects in parts, and reads the key of the first one (S3's "multipart upload and KMS").
    encrypt = Permission(
        sid="CaptureKey",
        actions=("kms:GenerateDataKey", "kms:Decrypt"),
        resources=(key_arn,),
        reason="captured data is encrypted with it",
    )
    return put, encrypt
