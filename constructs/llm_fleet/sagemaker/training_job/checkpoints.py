"""Where a training job keeps its checkpoints."""

from dataclasses import dataclass

from llm_fleet.catalog.training_jobs import training_job_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """A folder of the container that SageMaker copies to S3 while the script runs, and back before it starts again.

    Each run of the job has a prefix of its own below `uri`, so that a run that is started again goes on where it was,
    and the next one begins afresh. The script must write checkpoints, and look for one when it starts: nobody does that
    for it.
    """

    uri: str | None = None
    """`s3://bucket/prefix`. Default: in the bucket of the job."""
    local_path: str = training_job_fact("checkpoint_path")
    """Where the script writes them. Default: `/opt/ml/checkpoints`."""
    key_arn: str | None = None
    """The KMS key of that bucket. Default: it has none of its own."""
