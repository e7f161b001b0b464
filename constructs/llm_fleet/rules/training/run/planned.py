"""A run with its defaults, of which one needs the memory estimate: over how many processes a layer is spread."""

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.training.run.degrees import possible_tensor_parallel
from llm_fleet.rules.training.run.memory import estimate
from llm_fleet.rules.training.run.plan import RunPlan, plan_run, told
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.terms import Backend


def planned(run: RunLike) -> RunPlan | None:
    """Return `run` with all its defaults; `None` where its instance type is unknown.

    Where nobody told a tensor parallel degree, it is the smallest with which the model fits, else the one with which
    it takes least; 1 where that is not known or the backend has none.
    """
    plan = plan_run(run)
    if plan is None or told(run, "tensor_parallel") is not None or not _has_tensor_parallel(plan.backend):
        return plan
    least, best = None, plan
    for degree in possible_tensor_parallel(plan, run.shape):
        tried = plan_run(run, tensor_parallel=degree)
        found = None if tried is None else estimate(tried, run.shape)
        if found is None or tried is None:
            return plan
        if found.fits:
            return tried
        if least is None or found.total < least:
            least, best = found.total, tried
    return best


def _has_tensor_parallel(backend: Backend) -> bool:
    """On processors a node's memory is cheap, and what is spread over nodes is slow: 1 unless told."""
    return backend is not Backend.CPU and "tensor_parallel" in backends()[backend].degrees
