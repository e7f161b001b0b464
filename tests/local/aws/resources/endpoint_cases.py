"""Life cycles of models, endpoint configurations and endpoints of SageMaker."""

from typing import Any

from tests.local.aws.resources.support import ACCOUNT, REGION, Deployer, trust

ROLE = f"arn:aws:iam::{ACCOUNT}:role/an-endpoint"
IMAGE = f"763104351884.dkr.ecr.{REGION}.amazonaws.com/huggingface-vllm:0.27.1-transformers5.10.2-gpu-py312"
ARCHIVE = "s3://my-models/gpt-j/model.tar.gz"
MODEL: dict[str, Any] = {
    "ModelName": "gpt-j",
    "ExecutionRoleArn": ROLE,
    "PrimaryContainer": {"Image": IMAGE, "Environment": {"HF_TASK": "text-generation"}, "ModelDataUrl": ARCHIVE},
    "EnableNetworkIsolation": True,
    "Tags": [{"Key": "kind", "Value": "model"}],
}
VARIANT: dict[str, Any] = {
    "VariantName": "AllTraffic",
    "ModelName": "gpt-j",
    "InstanceType": "ml.inf2.xlarge",
    "InitialInstanceCount": 1,
    "InitialVariantWeight": 1,
    "VolumeSizeInGB": 64,
    "InferenceAmiVersion": "al2-ami-sagemaker-inference-neuron-2",
    "ModelDataDownloadTimeoutInSeconds": 600,
    "ContainerStartupHealthCheckTimeoutInSeconds": 900,
    "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
}
CAPTURE: dict[str, Any] = {
    "EnableCapture": True,
    "InitialSamplingPercentage": 50,
    "DestinationS3Uri": "s3://captured/gpt-j",
    "CaptureOptions": [{"CaptureMode": "Input"}],
}
CONFIG: dict[str, Any] = {
    "EndpointConfigName": "gpt-j-1",
    "ProductionVariants": [VARIANT],
    "DataCaptureConfig": CAPTURE,
    "KmsKeyId": "alias/fleet",
}
ALL_AT_ONCE: dict[str, Any] = {
    "BlueGreenUpdatePolicy": {
        "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 600},
        "TerminationWaitInSeconds": 0,
    },
    "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "errors"}]},
}
FOR_UPDATES: dict[str, Any] = {
    "RetainAllVariantProperties": True,
    "ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DataCaptureConfig"}],
    "RetainDeploymentConfig": False,
}
"""What UpdateEndpoint takes, and CreateEndpoint has no members for."""
ENDPOINT: dict[str, Any] = {
    "EndpointName": "gpt-j",
    "EndpointConfigName": "gpt-j-1",
    "DeploymentConfig": ALL_AT_ONCE,
}


def model(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about a model."""
    tags = client.list_tags(ResourceArn=arn)["Tags"]
    return client.describe_model(ModelName=arn.rsplit("/", 1)[-1]) | {"tags": {one["Key"] for one in tags}}


def config(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about a configuration."""
    return client.describe_endpoint_config(EndpointConfigName=arn.rsplit("/", 1)[-1])


def endpoint(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about an endpoint."""
    return client.describe_endpoint(EndpointName=arn.rsplit("/", 1)[-1])


def make_archive(deployer: Deployer) -> None:
    """Create the role and the archive, which the service checks when a model is created."""
    deployer.create("AWS::IAM::Role", RoleName="an-endpoint", AssumeRolePolicyDocument=trust("sagemaker.amazonaws.com"))
    deployer.create("AWS::S3::Bucket", BucketName="my-models")
    deployer.client("s3").put_object(Bucket="my-models", Key="gpt-j/model.tar.gz", Body=b"packed")


def make_model(deployer: Deployer) -> None:
    """Create the model of a configuration."""
    make_archive(deployer)
    deployer.create("AWS::SageMaker::Model", **MODEL)


def make_configs(deployer: Deployer) -> None:
    """Create an endpoint's first configuration, and the one for an update."""
    make_model(deployer)
    deployer.create("AWS::SageMaker::EndpointConfig", **CONFIG)
    more: dict[str, Any] = {
        "EndpointConfigName": "gpt-j-2",
        "ProductionVariants": [VARIANT | {"InitialInstanceCount": 2}],
    }
    deployer.create("AWS::SageMaker::EndpointConfig", **CONFIG | more)
