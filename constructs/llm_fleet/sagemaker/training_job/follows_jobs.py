"""What a training job asks of a watch."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.spec.watch import JobWatch


class FollowsJobs(Protocol):
    """A watch that starts failed jobs again, and writes down what it decides (`TrainingWatch`)."""

    @property
    def record_table_name(self) -> str:
        """The table with its decisions, by key `job`; may be a token."""
        ...

    @property
    def record_table_arn(self) -> str:
        """Its ARN; may be a token."""
        ...

    @property
    def record_key_arn(self) -> str | None:
        """The table's KMS key; `None` where it has none of its own."""
        ...

    @property
    def answer_within_seconds(self) -> int:
        """After how long at most a decision is there, and the job that follows from it."""
        ...

    def follow(
        self,
        scope: Construct,
        *,
        name: str,
        role: iam.IRole,
        has_checkpoints: bool,
        checkpoint_uri: str | None,
        metrics: Sequence[str],
        settings: JobWatch | None = None,
        keys: Sequence[kms.IKey] = (),
        training_plan_arn: str | None = None,
    ) -> Mapping[str, str]:
        """Watch the jobs `<name>-…`; return the tags that they must carry."""
        ...
