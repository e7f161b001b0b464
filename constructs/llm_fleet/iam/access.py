"""What a node may reach, by ARN. Strings, not constructs, so that a policy is a pure function of them."""

from dataclasses import dataclass

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAccess:
    """A bucket, or the part of it below a prefix."""

    bucket_arn: str
    """ARN of the bucket; may be a token."""
    prefix: str = ""
    """Only keys that begin with `<prefix>/`; the whole bucket when empty."""
    key_arn: str | None = None
    """KMS key that encrypts it; `None` for encryption with S3's own keys."""

    @classmethod
    def of(cls, bucket: s3.IBucket | s3.Bucket, *, prefix: str = "") -> "BucketAccess":
        """Return the access to `bucket`, with its key where it has one of its own."""
        key = bucket.encryption_key
        return cls(bucket_arn=bucket.bucket_arn, prefix=prefix, key_arn=key.key_arn if key else None)

    @property
    def objects_arn(self) -> str:
        """The ARN of all objects that are meant."""
        return f"{self.bucket_arn}/{self.prefix}/*" if self.prefix else f"{self.bucket_arn}/*"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAccess:
    """A secret."""

    secret_arn: str
    """Full ARN of the secret; may be a token."""
    key_arn: str | None = None
    """KMS key that encrypts it; `None` for `aws/secretsmanager`, which needs no statement."""

    @classmethod
    def of(cls, secret: secretsmanager.ISecret) -> "SecretAccess":
        """Return the access to `secret`, with its key where it has one of its own."""
        key = secret.encryption_key
        return cls(secret_arn=secret.secret_arn, key_arn=key.key_arn if key else None)
