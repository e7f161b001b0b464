"""A place in S3 that a training job reads or writes."""

from dataclasses import dataclass

from llm_fleet.rules.sagemaker.s3_place import bucket_and_key


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Place:
    """A prefix in a bucket, and the bucket's own KMS key."""

    uri: str
    """`s3://bucket/prefix`; may be known in part only until it is deployed."""
    key_arn: str | None = None
    """`None` where the bucket has no key of its own."""

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return bucket_and_key(self.uri)[0]

    @property
    def prefix(self) -> str:
        """The prefix, without slashes at its ends; empty for the whole bucket."""
        return bucket_and_key(self.uri)[1]
