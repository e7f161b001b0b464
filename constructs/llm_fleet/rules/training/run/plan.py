"""A run with all its defaults worked out."""

from dataclasses import dataclass
from posixpath import dirname, join

from llm_fleet.catalog.training_environments import (
    backends,
    default_backend,
    default_global_batch,
    default_seed,
    default_sequence_length,
    default_warmup_steps,
)
from llm_fleet.rules.training.run.accelerator import Accelerator, accelerator_of
from llm_fleet.rules.training.run.protocols import RunLike, TrainedShapeLike
from llm_fleet.rules.training.run.terms import ActivationCheckpointing, Backend, Precision

OF_SMP = {
    "tensor_parallel": "tensor_parallel_degree",
    "context_parallel": "context_parallel_degree",
    "shard_degree": "hybrid_shard_degree",
}
"""What a configuration of SMP may tell in a run's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """How a run is spread over its processes. Numbers are as asked for; whether they go together is for the rules."""

    backend: Backend
    accelerator: Accelerator
    nodes: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    shard_degree: int
    """Over how many processes weights and gradients are sharded; 1 where the backend shards none."""
    micro_batch: int
    global_batch: int
    sequence_length: int
    activation_checkpointing: ActivationCheckpointing
    precision: Precision
    warmup_steps: int
    seed: int
    folder: str

    @property
    def world(self) -> int:
        """All processes."""
        return self.nodes * self.accelerator.processes

    @property
    def model_parallel(self) -> int:
        """How many processes work on one sequence together."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel

    @property
    def data_parallel(self) -> int:
        """How many groups of processes work on sequences of their own."""
        return max(1, self.world // self.model_parallel)

    @property
    def accumulation(self) -> int:
        """How many micro batches a group works on in a step."""
        return max(1, self.global_batch // (self.micro_batch * self.data_parallel))


def backend_of(run: RunLike) -> Backend | None:
    """Return what spreads `run`; `None` where the instance type tells nothing."""
    if run.backend is not None:
        return run.backend
    accelerator = accelerator_of(run.partition.instance_type)
    return None if accelerator is None else Backend(default_backend(accelerator.kind))


def told(run: RunLike, degree: str) -> int | None:
    """Return what `run`, or its configuration of SMP, says of `degree`; `None` for the default."""
    own = getattr(run, degree)
    if own is not None or run.smp is None or backend_of(run) is not Backend.SMP:
        return own
    return getattr(run.smp, OF_SMP[degree]) or None


def plan_run(run: RunLike, *, tensor_parallel: int | None = None) -> RunPlan | None:
    """Return `run` with its defaults, `tensor_parallel` among them; `None` where its instance type is unknown.

    Asked only of a run whose numbers are whole and above 0.
    """
    backend = backend_of(run)
    accelerator = None if backend is None else accelerator_of(run.partition.instance_type, backend)
    if backend is None or accelerator is None:
        return None
    accelerator = accelerator.shared_out(run.partition.processes)
    nodes = run.partition.nodes if run.nodes is None else run.nodes
    tensor = told(run, "tensor_parallel") or tensor_parallel or 1
    pipeline, context = run.pipeline_parallel or 1, told(run, "context_parallel") or 1
    world = nodes * accelerator.processes
    groups = max(1, world // (tensor * pipeline * context))
    return RunPlan(
        backend=backend,
        accelerator=accelerator,
        nodes=nodes,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        context_parallel=context,
        shard_degree=told(run, "shard_degree") or _all_of(backend, world, tensor),
        micro_batch=run.micro_batch,
        global_batch=run.global_batch or _near_default(run.micro_batch * groups),
        sequence_length=run.sequence_length or _sequence_length(run.shape),
        activation_checkpointing=run.activation_checkpointing or _checkpointing(backend),
        precision=run.precision or (Precision.FLOAT32 if backend is Backend.CPU else Precision.MIXED),
        warmup_steps=min(default_warmup_steps(), run.steps // 5) if run.warmup_steps is None else run.warmup_steps,
        seed=_seed(run),
        folder=run.folder or default_folder(run),
    )


def default_folder(run: RunLike) -> str:
    """Return `<where the runtime's folder lies>/runs/<name>`, where every user may make a folder."""
    return join(dirname(run.partition.training_folder or "/fsx/llm-fleet"), "runs", run.name)


def _seed(run: RunLike) -> int:
    of_smp = run.smp.random_seed if run.smp is not None else None
    return next(each for each in (run.seed, of_smp, default_seed()) if each is not None)


def _all_of(backend: Backend, world: int, tensor: int) -> int:
    return max(1, world // tensor) if "shard_degree" in backends()[backend].degrees else 1


def _near_default(smallest: int) -> int:
    """Return the multiple of `smallest` that is nearest to the default, and at least itself."""
    return max(1, round(default_global_batch() / smallest)) * smallest


def _sequence_length(shape: TrainedShapeLike | None) -> int:
    longest = None if shape is None else shape.max_sequence
    return min(default_sequence_length(), longest or default_sequence_length())


def _checkpointing(backend: Backend) -> ActivationCheckpointing:
    return ActivationCheckpointing.NONE if backend is Backend.CPU else ActivationCheckpointing.FULL
