"""IAM permissions of an endpoint's execution role, and data capture of its requests and responses."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.endpoint import capture_facts
from llm_fleet.iam.resource_permissions import (
    grant_volumes,
    network_interface_permissions,
    pull_images,
    read_bucket,
)
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.sagemaker.render_endpoint import EndpointPlan
from llm_fleet.spec.endpoint import EndpointModelSource
from llm_fleet.spec.endpoint_operations import DataCapture
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import DataBucket

_METRICS = "/aws/sagemaker/*"


def endpoint_permissions(
    plan: EndpointPlan, place: Place, *, log_group_name: str, in_network: bool, volume_key_arn: str | None
) -> list[Permission]:
    """Return the statements that `plan` requires, each with its reason."""
    return [
        *pull_images(
            [plan.repository_arn(partition=place.partition)],
            reason="SageMaker pulls the container image with this role, from this repository only",
        ),
        *_model(plan, place),
        *_monitoring(place, log_group_name),
        *(
            network_interface_permissions(
                place,
                reason="each instance gets a network interface in the compute subnets; the ids do not exist yet",
                lookup_reason="SageMaker checks the VPC before placing an instance; EC2's Describe actions support no "
                "resource",
            )
            if in_network
            else ()
        ),
        *(_volume_key(volume_key_arn) if volume_key_arn else ()),
    ]


def _model(plan: EndpointPlan, place: Place) -> Sequence[Permission]:
    found = plan.bucket_and_path
    if found is None:
        return ()
    bucket, path = found
    bucket_arn = f"arn:{place.partition}:s3:::{bucket}"
    if plan.spec.model.source is EndpointModelSource.S3:
        access = BucketAccess(bucket_arn=bucket_arn, prefix=path, key_arn=plan.spec.model.key_arn)
        return read_bucket("Model", access, reason="SageMaker copies the model's files to each instance")
    key = Permission(
        sid="ModelKey",
        actions=("kms:Decrypt",),
        resources=(plan.spec.model.key_arn or "",),
        reason="the bucket is encrypted with its own key",
    )
    return (
        Permission(
            sid="ModelArchive",
            actions=("s3:GetObject",),
            resources=(f"{bucket_arn}/{path}",),
            reason="SageMaker copies only this archive to each instance and unpacks it there",
        ),
        *((key,) if plan.spec.model.key_arn else ()),
    )


def _monitoring(place: Place, log_group_name: str) -> Sequence[Permission]:
    group = place.arn("logs", f"log-group:{log_group_name}")
    return (
        Permission(
            sid="Log",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(group, f"{group}:*"),
            reason="each instance writes a stream of the endpoint's log group, which already exists",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringLike": {"cloudwatch:namespace": _METRICS}},
            reason="instances publish CPU, memory and GPU; the action supports no resource, so the namespace is "
            "limited",
        ),
    )


def _volume_key(key_arn: str) -> Sequence[Permission]:
    """As documented for jobs, SageMaker makes the grant with this role. assumption: endpoint-role-makes-the-grant"""
    return (
        grant_volumes(
            "VolumeKey",
            (key_arn,),
            reason="the volumes of the instances are encrypted with this key through a grant for EBS",
        ),
    )


_Config = sagemaker.CfnEndpointConfig
_CAPTURED = "captured"


class EndpointCapture(Construct):
    """The bucket for captured requests and responses, and the permissions for it; empty without data capture.

    A bucket that this construct creates is retained, so that users' data is not deleted with the stack.
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
        """Create a bucket if `capture` names none. `encryption_key`: encrypts it; default a new key."""
        super().__init__(scope, id)
        self.bucket: s3.IBucket | None = None
        """The created bucket; `None` if `capture` names one, or without data capture."""
        self.config: sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None = None
        """The property of the endpoint's configuration."""
        self.permissions: tuple[Permission, ...] = ()
        """Permissions that the endpoint's role requires."""
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
        # Otherwise SageMaker writes base64, which users cannot read or search.
        capture_content_type_header=_Config.CaptureContentTypeHeaderProperty(
            json_content_types=list(capture_facts().json_content_types)
        ),
    )


def _permissions(objects: str, key_arn: str | None) -> tuple[Permission, ...]:
    put = Permission(
        sid="Capture",
        actions=("s3:PutObject",),
        resources=(objects,),
        reason="SageMaker names each file of captured data by variant and time, under the endpoint's name",
    )
    if key_arn is None:
        return (put,)
    # Decrypt: a multipart upload of S3 decrypts the data key of its first part (S3's "multipart upload and KMS").
    encrypt = Permission(
        sid="CaptureKey",
        actions=("kms:GenerateDataKey", "kms:Decrypt"),
        resources=(key_arn,),
        reason="captured data is encrypted with it",
    )
    return put, encrypt
