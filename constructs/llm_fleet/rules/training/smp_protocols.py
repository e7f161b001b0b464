"""What the rules of SMP v2 ask of a configuration: read-only attributes, all plain values.

`SmpConfiguration` and the fleet file's `smp:` both have this shape. A key that is left out is `None`.
"""

from typing import Protocol


class SmpLike(Protocol):
    """A configuration of the SageMaker model parallel library v2; the attributes are the library's own keys."""

    @property
    def hybrid_shard_degree(self) -> int | None:
        """Over how many processes a model is sharded; 0 leaves it to PyTorch or the library."""
        ...

    @property
    def sm_activation_offloading(self) -> bool | None:
        """Whether activations go to the host's memory by the library's way of doing it."""
        ...

    @property
    def activation_loading_horizon(self) -> int | None:
        """Of how many checkpointed layers the inputs are in the GPU's memory at once."""
        ...

    @property
    def fsdp_cache_flush_warnings(self) -> bool | None:
        """Whether the library warns of flushes of PyTorch's memory cache."""
        ...

    @property
    def allow_empty_shards(self) -> bool | None:
        """Whether a process may have an empty shard of a tensor that cannot be divided."""
        ...

    @property
    def tensor_parallel_degree(self) -> int | None:
        """Over how many processes each layer is spread."""
        ...

    @property
    def context_parallel_degree(self) -> int | None:
        """Over how many processes each sequence is spread."""
        ...

    @property
    def expert_parallel_degree(self) -> int | None:
        """Over how many processes the experts of a mixture are spread."""
        ...

    @property
    def random_seed(self) -> int | None:
        """The seed of what the library's parallel modules draw at random."""
        ...

    @property
    def tensor_parallel_seed(self) -> int | None:
        """What the library's announcement calls `random_seed`."""
        ...

    @property
    def backend(self) -> str | None:
        """Whose collectives the processes use: `nccl` or `smddp`; `None` is `smddp` where it runs, else `nccl`."""
        ...
