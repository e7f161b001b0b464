"""The memory estimate of a run, for readers."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.memory import in_gib
from llm_fleet.rules.training.run.fault import Fault
from llm_fleet.rules.training.run.memory import MemoryEstimate
from llm_fleet.rules.training.run.plan import RunPlan
from llm_fleet.rules.training.run.protocols import RunLike

_OF = {"neuron": "a NeuronCore", "gpu": "a GPU", "none": "a process"}


def breakdown(found: MemoryEstimate) -> str:
    """Return what an estimate is made of, e.g. `weights 1.6 GiB, gradients 3.1 GiB, …`."""
    parts = {name: getattr(found, name) for name in ("weights", "gradients", "optimizer", "activations", "logits")}
    return ", ".join(f"{name} {in_gib(size)}" for name, size in parts.items())


def spread(plan: RunPlan) -> str:
    """Return over what a run is spread, e.g. `4 nodes x 32 processes, tensor parallel 8, data parallel 16`."""
    words = {"tensor": plan.tensor_parallel, "pipeline": plan.pipeline_parallel, "context": plan.context_parallel}
    degrees = [f"{name} parallel {degree}" for name, degree in words.items() if degree > 1]
    shards = [f"shard degree {plan.shard_degree}"] if plan.shard_degree > 1 else []
    nodes = f"{plan.nodes} node{'' if plan.nodes == 1 else 's'} x {plan.accelerator.processes} processes"
    return ", ".join([nodes, *degrees, *shards, f"data parallel {plan.data_parallel}"])


def memory_fault(run: RunLike, plan: RunPlan, found: MemoryEstimate) -> Fault:
    """Return that `run` does not fit, with what takes how much."""
    path = "tensor_parallel" if run.tensor_parallel is not None else "model"
    return Fault(
        code=Code.JOB_MEMORY,
        message=f"the model does not fit: spread over {spread(plan)}, with micro batch {plan.micro_batch} and "
        f"sequence {plan.sequence_length}, a process takes an estimated {in_gib(found.total)} ({breakdown(found)}), "
        f"and {_OF[plan.accelerator.kind]} of {run.partition.instance_type} has {in_gib(found.usable)} for it of its "
        f"{in_gib(found.whole)}",
        path=(path,),
        value=getattr(run, path),
    )
