"""When a run saves itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """When a run saves itself, and where else. `TrainingRun` judges it."""

    every: int = 100
    """Steps from one checkpoint to the next: what a lost node costs at most. Default: 100."""
    keep: int = 2
    """How many complete ones are kept. Default: 2."""
    mirror: str | None = None
    """Where in S3 they are copied to, `s3://bucket/prefix`. Default: nowhere."""
