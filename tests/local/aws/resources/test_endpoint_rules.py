"""What SageMaker refuses of endpoints, the embedded one refuses too."""

from typing import Any

import pytest

from local.aws.resource_provider import ResourceFailed
from tests.local.aws.resources.endpoint_cases import (
    CONFIG,
    ENDPOINT,
    MODEL,
    VARIANT,
    make_archive,
    make_configs,
    make_model,
)
from tests.local.aws.resources.support import Deployer

CONTAINER: dict[str, Any] = MODEL["PrimaryContainer"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ExecutionRoleArn": "arn:aws:iam::123456789012:role/nobody"}, "does not exist"),
        ({"PrimaryContainer": CONTAINER | {"Image": "docker.io/vllm/vllm-openai:v0.27.1"}}, "non-ECR image"),
        (
            {"PrimaryContainer": CONTAINER | {"Image": str(CONTAINER["Image"]).replace("us-west-2", "eu-west-1")}},
            "Cross region ECR image pulls are not allowed",
        ),
        ({"PrimaryContainer": CONTAINER | {"ModelDataUrl": "s3://my-models/other.tar.gz"}}, "Could not access model"),
        ({"VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}}, "The subnet ID 'subnet-1'"),
        (
            {
                "PrimaryContainer": {
                    "Image": CONTAINER["Image"],
                    "ModelDataSource": {
                        "S3DataSource": {
                            "S3Uri": "s3://my-models/gpt-j",
                            "S3DataType": "S3Prefix",
                            "CompressionType": "None",
                        }
                    },
                }
            },
            "must end with a forward slash",
        ),
    ],
)
def test_a_model_that_could_not_be_fetched_is_refused(deployer: Deployer, change: dict[str, Any], told: str) -> None:
    make_archive(deployer)
    with pytest.raises(ResourceFailed, match=told):
        deployer.create("AWS::SageMaker::Model", **MODEL | change)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ModelName": "nothing"}, 'Could not find model "arn:aws:sagemaker:us-west-2:123456789012:model/nothing"'),
        ({"InstanceType": "ml.g4dn.xlarge", "InferenceAmiVersion": None}, "VolumeSizeInGB is not supported"),
        ({"InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-3-1"}, "does not go with ml.inf2.xlarge"),
    ],
)
def test_a_configuration_that_could_not_run_is_refused(deployer: Deployer, change: dict[str, Any], told: str) -> None:
    make_model(deployer)
    variant = {name: value for name, value in (VARIANT | change).items() if value is not None}
    asked: dict[str, Any] = CONFIG | {"ProductionVariants": [variant]}
    with pytest.raises(ResourceFailed, match=told):
        deployer.create("AWS::SageMaker::EndpointConfig", **asked)


def test_what_an_endpoint_runs_is_not_deleted_before_it(deployer: Deployer) -> None:
    make_configs(deployer)
    made = deployer.create("AWS::SageMaker::Endpoint", **ENDPOINT)
    client = deployer.client("sagemaker")
    with pytest.raises(client.exceptions.ClientError, match="is in use by gpt-j"):
        client.delete_endpoint_config(EndpointConfigName="gpt-j-1")
    with pytest.raises(client.exceptions.ClientError, match="already existing endpoint"):
        client.create_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2")
    deployer.delete("AWS::SageMaker::Endpoint", made, **ENDPOINT)
    client.delete_endpoint_config(EndpointConfigName="gpt-j-1")
    assert [one["EndpointConfigName"] for one in client.list_endpoint_configs()["EndpointConfigs"]] == ["gpt-j-2"]


def test_an_update_keeps_the_instances_that_scaling_set(deployer: Deployer) -> None:
    make_configs(deployer)
    deployer.create("AWS::SageMaker::Endpoint", **ENDPOINT)
    client = deployer.client("sagemaker")
    client.update_endpoint_weights_and_capacities(
        EndpointName="gpt-j", DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": 5}]
    )
    client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2", RetainAllVariantProperties=True)
    assert _count(client) == 5
    client.update_endpoint(EndpointName="gpt-j", EndpointConfigName="gpt-j-2")
    assert _count(client) == 2


def _count(client: Any) -> int:
    (variant,) = client.describe_endpoint(EndpointName="gpt-j")["ProductionVariants"]
    return variant["CurrentInstanceCount"]
