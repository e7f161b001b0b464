"""Models and endpoint configurations that their API model allows and SageMaker rejects."""

import re
from collections.abc import Iterator
from typing import Any

from moto.core.base_backend import BackendDict
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.s3.models import s3_backends

from llm_fleet_local.aws.resources.moto_fixes.cluster_context import role_problems
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_ECR = re.compile(r"[0-9]{12}\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.]+/.+")
_PARTITION = "aws"


def model_problems(requested: dict[str, Any], account: str, region: str) -> list[str]:
    """Return the errors of a model.

    Source: assumption sagemaker-endpoint-refusals
    """
    errors = [*role_problems(requested.get("ExecutionRoleArn", ""), account)]
    if vpc := requested.get("VpcConfig"):
        errors += NetworkOf(account, region).problems(vpc["Subnets"], vpc["SecurityGroupIds"])
    containers = [requested["PrimaryContainer"]] if "PrimaryContainer" in requested else requested.get("Containers", [])
    if not containers:
        errors.append("PrimaryContainer or Containers is required")
    return [*errors, *(problem for one in containers for problem in _container(one, account, region))]


def config_problems(requested: dict[str, Any]) -> list[str]:
    """Return the errors of a configuration; whether its models exist is checked before.

    Source: assumption sagemaker-endpoint-refusals
    """
    variants: list[dict[str, Any]] = requested["ProductionVariants"]
    names = [one["VariantName"] for one in variants]
    errors = ["variant names must be unique"] if len(set(names)) != len(names) else []
    return [*errors, *(problem for one in variants for problem in _variant(one))]


def _container(requested: dict[str, Any], account: str, region: str) -> Iterator[str]:
    """Return the errors of a container's image and data.

    Source: model botocore sagemaker S3ModelDataSource (S3DataType)
    Source: assumption sagemaker-endpoint-refusals
    """
    image = requested.get("Image", "")
    found = _ECR.fullmatch(image)
    if found is None:
        yield f'Using non-ECR image "{image}" without Vpc repository access mode is not supported.'
    elif found["region"] != region:
        # Source: recorded https://github.com/aws/sagemaker-pytorch-inference-toolkit/pull/7
        yield (
            f'Region of "{image}" does not match expected region of {region}. '
            "Cross region ECR image pulls are not allowed."
        )
    source = requested.get("ModelDataSource", {}).get("S3DataSource")
    if source and "ModelDataUrl" in requested:
        yield "set only one of ModelDataUrl and ModelDataSource"
    if source and source["S3DataType"] == "S3Prefix" and not source["S3Uri"].endswith("/"):
        yield f"the key name prefix {source['S3Uri']} must end with a forward slash"
    uri = source["S3Uri"] if source else requested.get("ModelDataUrl")
    if uri and not _exists(uri, account):
        # Source: recorded aws/amazon-sagemaker-examples#4476, text of the error (2023-11-15)
        yield f"Could not find model data at {uri}."


def _variant(requested: dict[str, Any]) -> Iterator[str]:
    """Return the errors of a variant: its instances, their volume and their AMI.

    Source: assumption sagemaker-endpoint-refusals
    Source: assumption sagemaker-endpoint-ami-refusal
    """
    name, kind = requested["VariantName"], requested.get("InstanceType")
    if kind is None:
        yield f"{name}: InstanceType is required for an endpoint with instances"
        return
    if "ModelName" in requested and "InitialInstanceCount" not in requested:
        yield f"{name}: InitialInstanceCount is required"
    facts: dict[str, Any] = INSTANCE_TYPES.get(kind.removeprefix("ml."), {})
    if "VolumeSizeInGB" in requested and facts.get("InstanceStorageSupported"):
        yield f"{name}: VolumeSizeInGB is not supported for {kind}, which has local storage"
    ami: str = requested.get("InferenceAmiVersion", "")
    neuron = "NeuronInfo" in facts or "InferenceAcceleratorInfo" in facts
    if ami and ((not neuron and "neuron" in ami) or ("-gpu-" in ami and "GpuInfo" not in facts)):
        yield f"{name}: {ami} does not support {kind}"


def _exists(uri: str, account: str) -> bool:
    bucket_name, _, key = uri.removeprefix("s3://").partition("/")
    buckets: Any = _backend(s3_backends, account).buckets
    bucket = buckets.get(bucket_name)
    if bucket is None:
        return False
    return any(one.startswith(key) for one in bucket.keys) if key.endswith("/") else key in bucket.keys


def _backend(backends: BackendDict[Any], account: str) -> Any:
    return backends[account][_PARTITION]
