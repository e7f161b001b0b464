"""A Git repository on a notebook instance."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn, SecretArn


class RepositoryConfig(FleetModel):
    """A repository that is cloned when the instance starts. Its address alone may stand in its place."""

    url: str = Field(examples=["https://github.com/aws/amazon-sagemaker-examples.git"])
    """Where it is, over https, without user name and password."""
    branch: str | None = None
    """Default: the repository's own."""
    secret_arn: SecretArn | None = Field(default=None, alias="secret")
    """ARN of the secret with `{"username": …, "password": …}`. Default: none; everybody may read it."""
    secret_key_arn: KeyArn | None = Field(default=None, alias="secret_key")
    """ARN of the KMS key of that secret. Default: none, for Secrets Manager's own."""
