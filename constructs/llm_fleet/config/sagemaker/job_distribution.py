"""What starts the processes of a training script."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.jobs.smp import SmpConfig
from llm_fleet.config.sagemaker.training_job_words import OF_DISTRIBUTION
from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind
from llm_fleet.spec.model import FleetModel


class JobDistributionConfig(FleetModel):
    """What starts the processes of the script (`DistributionLike`)."""

    other_words: ClassVar[Mapping[str, str]] = OF_DISTRIBUTION

    kind: DistributionKind = DistributionKind.NONE
    """`none`, `torchrun`, `smp`, `smddp` or `mpi`. Default: `none`, one process on each instance."""
    smp_configuration: SmpConfig | None = Field(default=None, alias="smp")
    """With `smp`: what SMP v2 is told, by its own keys."""
    processes_per_host: int | None = None
    """With `mpi`: how many processes on each instance. Default: one for each GPU."""
