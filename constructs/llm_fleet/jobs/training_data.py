"""What a run learns from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Documents that are tokenized once. `TrainingRun` judges it."""

    place: str
    """An id of a data set on the Hub (`owner/name`), `s3://bucket/prefix`, or a folder on shared storage."""
    text_field: str = "text"
    """Which field of a document is the text. Default: `text`."""
