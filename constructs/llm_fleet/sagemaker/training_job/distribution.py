"""What starts the processes of a training script."""

from dataclasses import dataclass

from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind
from llm_fleet.rules.training.smp_protocols import SmpLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How a script is spread over the accelerators of all instances.

    What does not go with instance, image or script is told by `TrainingJobSpec` (LF968). Parameter servers, Training
    Compiler's launcher and SMP v1 have ended, and pytorchddp has been replaced by torchrun: none of them is offered.
    """

    kind: DistributionKind
    """Which launcher."""
    smp_configuration: SmpLike | None = None
    """The configuration of SMP v2, with it alone."""
    processes_per_host: int | None = None
    """How many processes MPI starts on each instance; `None` is one for each accelerator."""

    @classmethod
    def none(cls) -> "Distribution":
        """Return no launcher: the script is started once on each instance."""
        return cls(kind=DistributionKind.NONE)

    @classmethod
    def torchrun(cls) -> "Distribution":
        """Return PyTorch's own launcher: a process for each GPU or NeuronCore. DDP and FSDP need no more than this."""
        return cls(kind=DistributionKind.TORCHRUN)

    @classmethod
    def smp(cls, configuration: SmpLike) -> "Distribution":
        """Return torchrun with the SageMaker model parallel library v2, e.g. `SmpConfiguration(…)`; image `smp`."""
        return cls(kind=DistributionKind.SMP, smp_configuration=configuration)

    @classmethod
    def smddp(cls) -> "Distribution":
        """Return the SageMaker distributed data parallel library: on p4d and p4de only, in the image `smp`."""
        return cls(kind=DistributionKind.SMDDP)

    @classmethod
    def mpi(cls, *, processes_per_host: int | None = None) -> "Distribution":
        """Return MPI. Default: a process for each GPU."""
        return cls(kind=DistributionKind.MPI, processes_per_host=processes_per_host)
