"""How checkpoints lie below their prefix."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class CheckpointLayoutConfig(FleetModel):
    """How checkpoints lie below their prefix (`CheckpointLayoutLike`). A word is short for `layout` alone."""

    other_words: ClassVar[Mapping[str, str]] = {"folder": "write `pattern`", "regex": "write `pattern`"}

    known: str | None = Field(default=None, alias="layout", examples=["hugging-face"])
    """`hugging-face`, `neuronx-distributed`, `llm-fleet` or `any`. Default: what `pattern` says."""
    pattern: str | None = Field(default=None, examples=[r"step_(\d+)"])
    """Regular expression of a checkpoint's folder; its one group is the step. Default: that of `layout`."""
    marker: str | None = Field(default=None, examples=["done"])
    """A file in that folder which is written last. Default: that of `layout`, or none."""
    pointer: str | None = Field(default=None, examples=["latest"])
    """A file beside the folders that names the newest one. Default: that of `layout`, or none."""
