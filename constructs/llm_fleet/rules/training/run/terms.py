"""The closed vocabularies of training runs, in the fleet file's words."""

from enum import StrEnum


class Backend(StrEnum):
    """What spreads a run over its processes."""

    NEURON = "neuron"
    """torch-neuronx and neuronx-distributed: tensor parallel, the optimizer sharded over data parallel (ZeRO-1)."""
    NEMO_MEGATRON = "nemo-megatron"
    """neuronx-nemo-megatron, the launch post's, on the last Neuron release that carries it; pipeline parallel too."""
    FSDP = "fsdp"
    """PyTorch's FSDP2: weights, gradients and optimizer sharded."""
    SMP = "smp"
    """SageMaker's model parallel library v2: FSDP with tensor and context parallel."""
    CPU = "cpu"
    """PyTorch on processors, over gloo: for proof and for learning."""


class ActivationCheckpointing(StrEnum):
    """What of a layer is worked out again in the backward pass instead of being kept."""

    NONE = "none"
    """Nothing: the fastest, and the most memory."""
    SELECTIVE = "selective"
    """The attention scores."""
    FULL = "full"
    """All but each layer's input: the least memory, and about a third more work."""


class Precision(StrEnum):
    """What numbers a run computes with."""

    MIXED = "mixed"
    """bf16, with weights and moments of the optimizer kept in fp32."""
    FLOAT32 = "float32"
    """fp32 throughout."""
