"""The closed vocabularies of a training job."""

from enum import StrEnum


class TrainingImageKind(StrEnum):
    """Which container a job trains in, as the fleet file spells it."""

    PYTORCH = "pytorch"
    HUGGING_FACE = "hugging-face"
    PYTORCH_NEURONX = "pytorch-neuronx"
    SMP = "smp"
    """The image of the SageMaker model parallel library v2, which has SMDDP too."""
    OWN = "own"
    """An image by its address."""


class DistributionKind(StrEnum):
    """What starts the processes of a training script, as the fleet file spells it."""

    NONE = "none"
    """One process on each instance."""
    TORCHRUN = "torchrun"
    """One process for each accelerator, by torchrun."""
    SMP = "smp"
    """The same, with the SageMaker model parallel library v2."""
    SMDDP = "smddp"
    """One process for each GPU, by the SageMaker distributed data parallel library."""
    MPI = "mpi"


class InputMode(StrEnum):
    """How the data of a channel reaches the container (`TrainingInputMode`)."""

    FILE = "File"
    """Downloaded before the script starts."""
    FAST_FILE = "FastFile"
    """Streamed while the script reads files."""
    PIPE = "Pipe"
    """Streamed through named pipes, which the script must read as such."""
