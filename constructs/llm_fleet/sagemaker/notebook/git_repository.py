"""A Git repository on a notebook instance."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRepository:
    """What SageMaker clones when the instance starts, below `/home/ec2-user/SageMaker`. Judged by what takes it."""

    url: str
    """Where it is, over https. A user name or password in it is refused: they belong in a secret."""
    branch: str | None = None
    """Default: the repository's own."""
    secret_arn: str | None = None
    """The secret with `{"username": …, "password": …}`, the password being a token of the host's where it has such.
    Default: none, for a repository that everybody may read."""
    secret_key_arn: str | None = None
    """KMS key of the secret. Default: none, for Secrets Manager's own."""
