"""The SageMaker model parallel library v2 (SMP), for batch jobs and SageMaker's training jobs."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.spec.spec import Spec


class SmpConfiguration(Spec):
    """Configuration of SMP v2, with the library's own keys (`distributed-model-parallel-v2-reference`).

    A key that is left out, `None`, is derived from the job, otherwise it is the library's default.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "shard_degree": "write `hybrid_shard_degree`",
        "sharded_data_parallel_degree": "write `hybrid_shard_degree`: that is the first version's key",
        "tensor_parallel": "write `tensor_parallel_degree`",
        "context_parallel": "write `context_parallel_degree`",
        "expert_parallel": "write `expert_parallel_degree`",
        "offload_activations": "write `sm_activation_offloading`: that is the first version's key",
        "seed": "write `random_seed`",
        "ddp_dist_backend": "write `backend`: that is the first version's key",
        "partitions": "remove it: version 2 has no pipeline parallelism",
        "pipeline_parallel_degree": "remove it: version 2 has no pipeline parallelism",
        "microbatches": "remove it: version 2 has no pipeline parallelism",
    }

    hybrid_shard_degree: Annotated[int | None, Field(examples=[16])] = None
    """Number of GPUs over which the model is sharded. Default: the job's shard degree, otherwise `0`: all GPUs, as in
    PyTorch."""
    sm_activation_offloading: bool | None = None
    """Whether activations are offloaded to CPU memory. Default: no; the library's own default has no effect alone."""
    activation_loading_horizon: Annotated[int | None, Field(examples=[2])] = None
    """Number of checkpointed layers whose inputs are on the GPU at the same time. Default: `2`, the library's own."""
    fsdp_cache_flush_warnings: bool | None = None
    """Whether flushes of the GPU's memory cache are logged. Default: yes, the library's own."""
    allow_empty_shards: bool | None = None
    """Experimental: allow empty shards of tensors that cannot be divided. Default: no, the library's own."""
    tensor_parallel_degree: Annotated[int | None, Field(examples=[8])] = None
    """Number of GPUs over which each layer is split. Default: the job's."""
    context_parallel_degree: Annotated[int | None, Field(examples=[2])] = None
    """Number of GPUs over which each sequence is split; must divide the shard degree. Default: the job's."""
    expert_parallel_degree: Annotated[int | None, Field(examples=[1])] = None
    """Number of GPUs over which the experts of a mixture-of-experts model are split. Default: `1`; the training
    program's models have no experts."""
    random_seed: Annotated[int | None, Field(examples=[0])] = None
    """The seed of the library's parallel modules. Default: the job's."""
    tensor_parallel_seed: Annotated[int | None, Field(examples=[0])] = None
    """Name of `random_seed` in the library's announcement. Default: left out."""
    backend: Literal["nccl", "smddp"] | None = None
    """Collective communication library. Default: `smddp` on p4d and p4de, where it is supported, otherwise `nccl`."""

    @property
    def for_library(self) -> dict[str, Any]:
        """Return the keys that are set, in the order of the library's reference; the seed under its current name."""
        values = {name: getattr(self, name) for name in smp_keys()}
        if values["random_seed"] is None:
            values["random_seed"] = self.tensor_parallel_seed
        return {name: value for name, value in values.items() if value is not None}
