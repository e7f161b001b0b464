"""Whether a run can take place on its partition."""

from collections.abc import Iterator

from llm_fleet.catalog.training_environments import backends, default_backend
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.accelerator import Accelerator, accelerator_of
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.terms import Backend


def check_place(run: RunLike) -> list[Problem]:
    """Return what the partition of `run` lacks: instances that we know, nodes, a runtime, the backend's accelerator."""
    accelerator = accelerator_of(run.partition.instance_type)
    if accelerator is None:
        return [_unknown_type(run)]
    return [*_nodes(run), *_runtime(run), *_backend(run, accelerator)]


def _unknown_type(run: RunLike) -> Problem:
    return Problem(
        code=Code.JOB_PARTITION,
        message="the catalog does not know this instance type, so nothing can be said of a job on it",
        remedy="write EC2's name of one that it knows, e.g. 'trn1.32xlarge'",
        path=("partition", "instance_type"),
        value=run.partition.instance_type,
    )


def _nodes(run: RunLike) -> Iterator[Problem]:
    there = run.partition.nodes
    if there < 1:
        yield Problem(
            code=Code.JOB_PARTITION,
            message=f"the partition {run.partition.name} has no nodes",
            remedy="give it as many as the job needs",
            path=("partition", "nodes"),
            value=there,
        )
    elif run.nodes is not None and run.nodes > there:
        yield Problem(
            code=Code.JOB_NODES,
            message=f"the partition {run.partition.name} has {there} node{'' if there == 1 else 's'}, so Slurm would "
            "never start the job",
            remedy=f"write nodes={there}, or give the partition {run.nodes}",
            path=("nodes",),
            value=run.nodes,
            allowed=f"1 to {there}",
        )


def _runtime(run: RunLike) -> Iterator[Problem]:
    partition = run.partition
    if partition.training_folder is None:
        yield Problem(
            code=Code.JOB_RUNTIME,
            message=f"the nodes of {partition.cluster} carry no training runtime: a job would find no program",
            remedy="give the cluster one: `training:` in a fleet file, TrainingRuntime in Python",
            path=("partition", "training_folder"),
        )
    elif partition.environments is not None and not partition.environments:
        yield Problem(
            code=Code.JOB_RUNTIME,
            message=f"the training runtime of {partition.cluster} has no environment for {partition.name}",
            remedy="add one for it under `training: environments`",
            path=("partition", "environments"),
        )


def _backend(run: RunLike, accelerator: Accelerator) -> Iterator[Problem]:
    backend = run.backend
    if backend is None:
        return
    facts = backends()[backend]
    of_family = facts.families is None or accelerator.family in facts.families
    if accelerator.kind in facts.accelerators and of_family:
        return
    what = {"neuron": "Neuron devices", "gpu": "GPUs", "none": "neither GPUs nor Neuron devices"}[accelerator.kind]
    allowed = [
        name
        for name, each in backends().items()
        if accelerator.kind in each.accelerators and (each.families is None or accelerator.family in each.families)
    ]
    usual = Backend(default_backend(accelerator.kind))
    yield Problem(
        code=Code.JOB_BACKEND,
        message=f"the backend {backend.value} does not run on {run.partition.instance_type}, which has {what}",
        remedy=f"write backend={usual.value!r}, or leave it out",
        path=("backend",),
        value=backend.value,
        allowed=", ".join(allowed),
    )
