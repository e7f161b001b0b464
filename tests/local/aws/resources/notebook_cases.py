"""Life cycles of notebook instances, their lifecycle configurations and code repositories."""

import base64
from typing import Any

from tests.local.aws.resources.support import ACCOUNT, Deployer, trust

ROLE = f"arn:aws:iam::{ACCOUNT}:role/a-notebook"
SCRIPT = base64.b64encode(b"#!/bin/bash\necho one\n").decode()
LONGER = base64.b64encode(b"#!/bin/bash\necho two\n").decode()
NOTEBOOK: dict[str, Any] = {
    "NotebookInstanceName": "lab",
    "InstanceType": "ml.t3.medium",
    "RoleArn": ROLE,
    "PlatformIdentifier": "notebook-al2023-v1",
    "VolumeSizeInGB": 50,
    "RootAccess": "Disabled",
    "LifecycleConfigName": "pins",
    "DefaultCodeRepository": "samples",
    "AdditionalCodeRepositories": ["https://github.com/aws/amazon-sagemaker-examples.git"],
    "InstanceMetadataServiceConfiguration": {"MinimumInstanceMetadataServiceVersion": "2"},
    "Tags": [{"Key": "kind", "Value": "notebook"}],
}
CONFIG: dict[str, Any] = {"NotebookInstanceLifecycleConfigName": "pins", "OnStart": [{"Content": SCRIPT}]}
REPOSITORY: dict[str, Any] = {
    "CodeRepositoryName": "samples",
    "GitConfig": {
        "RepositoryUrl": "https://github.com/our/samples.git",
        "Branch": "main",
        "SecretArn": f"arn:aws:secretsmanager:us-west-2:{ACCOUNT}:secret:git-AbCdEf",
    },
}


def _tags(client: Any, arn: str) -> dict[str, Any]:
    return {"tags": {tag["Key"] for tag in client.list_tags(ResourceArn=arn)["Tags"]}}


def notebook(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about an instance."""
    return client.describe_notebook_instance(NotebookInstanceName=arn.rpartition("/")[2]) | _tags(client, arn)


def config(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about a lifecycle configuration."""
    name = arn.rpartition("/")[2]
    return client.describe_notebook_instance_lifecycle_config(NotebookInstanceLifecycleConfigName=name) | _tags(
        client, arn
    )


def repository(client: Any, arn: str) -> dict[str, Any]:
    """Return all of SageMaker's data about a code repository."""
    return client.describe_code_repository(CodeRepositoryName=arn.rpartition("/")[2]) | _tags(client, arn)


def make_parts(deployer: Deployer) -> None:
    """Create the dependencies of an instance."""
    deployer.create("AWS::IAM::Role", RoleName="a-notebook", AssumeRolePolicyDocument=trust("sagemaker.amazonaws.com"))
    deployer.create("AWS::SageMaker::NotebookInstanceLifecycleConfig", **CONFIG)
    deployer.create("AWS::SageMaker::CodeRepository", **REPOSITORY)
