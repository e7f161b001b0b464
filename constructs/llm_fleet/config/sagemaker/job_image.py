"""The container of a training job."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.sagemaker.training_job_words import OF_IMAGE
from llm_fleet.rules.sagemaker.training_job_terms import TrainingImageKind
from llm_fleet.spec.model import FleetModel


class TrainingImageConfig(FleetModel):
    """One of AWS's images for training, or one of your own (`TrainingImageLike`)."""

    other_words: ClassVar[Mapping[str, str]] = OF_IMAGE
    written_as: ClassVar[Mapping[str, str]] = {"own_uri": "uri"}

    line: TrainingImageKind | None = Field(default=None, alias="kind")
    """`pytorch`, `hugging-face`, `pytorch-neuronx` or `smp`. Default: `pytorch`, or `own` with a `uri`."""
    version: str | None = Field(default=None, examples=['"2.10.0"'])
    """Version of PyTorch, or of Transformers with `hugging-face`, in quotes. Default: the catalog's."""
    uri: str | None = None
    """The address of an image of your own, or of another of AWS's, tag included; in ECR. Default: none."""

    @property
    def kind(self) -> TrainingImageKind:
        """As written, else by whether there is an address."""
        return self.line or (TrainingImageKind.PYTORCH if self.uri is None else TrainingImageKind.OWN)

    @property
    def own_uri(self) -> str | None:
        """As written; empty where `own` is written without one."""
        return self.uri or "" if self.kind is TrainingImageKind.OWN else self.uri
