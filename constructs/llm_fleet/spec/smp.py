"""The SageMaker model parallel library v2 (SMP), for batch jobs and SageMaker's training jobs."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.spec.spec import Spec


class SmpConfiguration(Spec):
    """The configuration of SMP v2: its own keys, under its own names (`distributed-model-parallel-v2-reference`).

    A key that is left out, `None`, is the job's, else the library's default.
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
        "partitions": "leave it out: version 2 has no pipeline parallelism",
        "pipeline_parallel_degree": "leave it out: version 2 has no pipeline parallelism",
        "microbatches": "leave it out: version 2 has no pipeline parallelism",
    }

    hybrid_shard_degree: Annotated[int | None, Field(examples=[16])] = None
    """Over how many GPUs the model is sharded. Default: the job's shard degree, else `0`: all of them, as PyTorch."""
    sm_activation_offloading: bool | None = None
    """Whether activations move to the host's memory. Default: no; alone, the library's default does nothing."""
    activation_loading_horizon: Annotated[int | None, Field(examples=[2])] = None
    """Of how many checkpointed layers the inputs are on the GPU at once. Default: `2`, as the library has it."""
    fsdp_cache_flush_warnings: bool | None = None
    """Whether flushes of the GPU's memory cache are told. Default: yes, as the library has it."""
    allow_empty_shards: bool | None = None
    """Experimental: empty shards of tensors that cannot be divided. Default: no, as the library has it."""
    tensor_parallel_degree: Annotated[int | None, Field(examples=[8])] = None
    """Over how many GPUs each layer is spread. Default: the job's."""
    context_parallel_degree: Annotated[int | None, Field(examples=[2])] = None
    """Over how many GPUs each sequence is spread; a divisor of the shard degree. Default: the job's."""
    expert_parallel_degree: Annotated[int | None, Field(examples=[1])] = None
    """Over how many GPUs the experts of a mixture are spread. Default: `1`; the training program's models have none."""
    random_seed: Annotated[int | None, Field(examples=[0])] = None
    """The seed of the library's parallel modules. Default: the job's."""
    tensor_parallel_seed: Annotated[int | None, Field(examples=[0])] = None
    """What the library's announcement calls `random_seed`. Default: left out."""
    backend: Literal["nccl", "smddp"] | None = None
    """Whose collectives. Default: `smddp` on p4d and p4de, where it runs, else `nccl`."""

    @property
    def for_library(self) -> dict[str, Any]:
        """What the library reads: the keys that are set, in its reference's order, the seed by today's name."""
        values = {name: getattr(self, name) for name in smp_keys()}
        if values["random_seed"] is None:
            values["random_seed"] = self.tensor_parallel_seed
        return {name: value for name, value in values.items() if value is not None}
