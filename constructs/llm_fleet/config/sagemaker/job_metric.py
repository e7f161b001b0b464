"""A metric of a training job."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import NamedModel


class JobMetricConfig(NamedModel):
    """A number that is read from the job's log (`MetricLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "Regex": "write `regex`",
        "pattern": "write `regex`",
        "max": "write `above`",
        "min": "write `below`",
    }

    regex: str = Field(examples=["'loss=([0-9.]+)'"])
    """A regular expression whose first group is the number."""
    above: float | None = None
    """An alarm goes off while it is above this. Default: none does."""
    below: float | None = None
    """An alarm goes off while it is below this. Default: none does."""
