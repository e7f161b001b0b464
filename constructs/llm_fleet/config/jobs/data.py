"""What a job learns from."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class DataConfig(FleetModel):
    """Documents that a job learns from, tokenized once (`DataLike`). Text is short for the place alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "hub", "path", "dataset", "uri", "name"), "write `place`"),
        **dict.fromkeys(("field", "column", "text"), "write `text_field`"),
    }

    place: str = Field(examples=["togethercomputer/RedPajama-Data-1T-Sample"])
    """An id of a data set on the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    text_field: str = "text"
    """Which field of a document is the text. Default: `text`."""
