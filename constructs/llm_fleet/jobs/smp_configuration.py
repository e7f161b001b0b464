"""The configuration of the SageMaker model parallel library v2, and the file that the library reads."""

import json
from dataclasses import asdict, dataclass

from llm_fleet.catalog.smp import smp_keys
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.smp import check_smp
from llm_fleet.rules.training.smp_protocols import SmpLike
from llm_fleet.rules.training.smp_run import SmpRunLike, check_smp_run, run_values


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpConfiguration:
    """What SMP v2 is told: its own keys, under its own names (`distributed-model-parallel-v2-reference`).

    `None` leaves a key out, and the library takes its default. Raises `FleetError` with all that is wrong by itself;
    how it goes with a job's nodes is for `check_smp`, `check_smp_place` and `check_smp_backend`.
    """

    hybrid_shard_degree: int | None = None
    """Over how many processes a model is sharded, one a GPU. Default: 0, all of them, as PyTorch's FSDP does; with
    tensor parallelism the largest degree that there is room for."""
    sm_activation_offloading: bool | None = None
    """Whether activations go to the host's memory by the library's way. Default: `True`, without effect: only
    what is told here has the training program wrap its model for it."""
    activation_loading_horizon: int | None = None
    """Of how many checkpointed layers the inputs are in the GPU's memory at once. Default: 2."""
    fsdp_cache_flush_warnings: bool | None = None
    """Whether flushes of PyTorch's memory cache are warned of. Default: `True`."""
    allow_empty_shards: bool | None = None
    """Experimental: whether a process may have an empty shard of a tensor. Default: `False`."""
    tensor_parallel_degree: int | None = None
    """Over how many processes each layer is spread. Default: 1. Above 1 it needs `torch.sagemaker.transform`."""
    context_parallel_degree: int | None = None
    """Over how many processes each sequence is spread: a divisor of the shard degree. Default: 1."""
    expert_parallel_degree: int | None = None
    """Over how many processes the experts of a mixture are spread; not beside tensor parallelism. Default: 1."""
    random_seed: int | None = None
    """The seed of what parallel modules draw at random. Default: the library's own."""
    tensor_parallel_seed: int | None = None
    """What the library's announcement called `random_seed`; written as that."""
    backend: str | None = None
    """`nccl` or `smddp`: whose collectives the processes use. Default: `smddp` on p4d and p4de, else `nccl`. It is
    no key of the library: the training program is told it."""

    def __post_init__(self) -> None:
        raise_problems(check_smp(self), subject="SmpConfiguration")

    @classmethod
    def of(cls, smp: SmpLike, run: SmpRunLike | None = None) -> "SmpConfiguration":
        """Return `smp`, with what it leaves out as `run` has it: degrees and seed are told once.

        Raises `FleetError` where both tell a degree and differ.
        """
        if run is not None:
            raise_problems(check_smp_run(smp, run), subject="smp")
        told = {name: getattr(smp, name) for name in (*smp_keys(), "tensor_parallel_seed", "backend")}
        return cls(**told) if run is None else cls(**{**told, **run_values(smp, run)})

    def render(self) -> str:
        """Return the text of `smp_config.json`: the keys that were told, in the reference's order."""
        values = asdict(self)
        if values["random_seed"] is None:
            values["random_seed"] = values["tensor_parallel_seed"]
        told = {name: values[name] for name in smp_keys() if values[name] is not None}
        return json.dumps(told, indent=2) + "\n"
