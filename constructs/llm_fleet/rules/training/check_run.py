"""All rules of a training run, in the order of their dependencies."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.model_server import model_exports, model_servers
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.training_environments import backends, default_backend
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import wrong_names
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.server import check_server_on
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.run import (
    SPREAD,
    check_buckets,
    check_folder,
    check_numbers,
    check_partition,
    check_room,
    check_run_known,
    check_run_name,
    check_size,
    check_sources,
)
from llm_fleet.rules.training.run_plan import Accelerator, accelerator_of, planned
from llm_fleet.rules.training.run_spread import check_spread
from llm_fleet.rules.values import check_number, did_you_mean
from llm_fleet.spec.jobs import Backend, PlacedRun, ServedExport, TrainingPartition
from llm_fleet.spec.model_server import SERVERS
from llm_fleet.spec.model_shape import Model


def check_place(run: PlacedRun) -> list[Problem]:
    """Return problems of the partition of `run`: its instance type, nodes, runtime, and accelerator of the backend."""
    accelerator = accelerator_of(run.partition.instance_type)
    if accelerator is None:
        return [_unknown_type(run)]
    return [*_nodes(run), *_runtime(run), *_backend(run, accelerator)]


def _unknown_type(run: PlacedRun) -> Problem:
    return Problem(
        code=Code.JOB_PARTITION,
        message="unknown instance type of the partition",
        remedy="write an EC2 instance type of the catalog, e.g. `trn1.32xlarge`",
        path=("partition", "instance_type"),
        value=run.partition.instance_type,
    )


def _nodes(run: PlacedRun) -> Iterator[Problem]:
    there = run.partition.nodes
    if there < 1:
        yield Problem(
            code=Code.JOB_PARTITION,
            message=f"the partition {run.partition.name} has no nodes",
            remedy="give the partition as many nodes as the job needs",
            path=("partition", "nodes"),
            value=there,
        )
    elif run.nodes is not None and run.nodes > there:
        yield run.wrong(
            "nodes",
            Code.JOB_NODES,
            f"the partition {run.partition.name} has only {there} node{'' if there == 1 else 's'}, so Slurm would "
            "never start the job",
            f"write nodes={there}, or give the partition {run.nodes} nodes",
            allowed=f"1 to {there}",
        )


def _runtime(run: PlacedRun) -> Iterator[Problem]:
    partition = run.partition
    if partition.training_folder is None:
        yield Problem(
            code=Code.JOB_RUNTIME,
            message=f"the cluster {partition.cluster} has no training runtime, which contains the training program",
            remedy="add one to the cluster: `training:` in a fleet file, TrainingRuntime in Python",
            path=("partition", "training_folder"),
        )
    elif partition.environments is not None and not partition.environments:
        yield Problem(
            code=Code.JOB_RUNTIME,
            message=f"the training runtime of {partition.cluster} has no environment for {partition.name}",
            remedy="add one for this partition to `training: environments`",
            path=("partition", "environments"),
        )


def _backend(run: PlacedRun, accelerator: Accelerator) -> Iterator[Problem]:
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
        remedy=f"write backend={usual.value!r}, or remove it",
        path=("backend",),
        value=backend.value,
        allowed=", ".join(allowed),
    )


_IN_PYTHON = "; in Python ServerEnvironment"


def check_export(run: PlacedRun) -> list[Problem]:
    """Return why the export of `run` could not be served: server, instance type and sizes are checked as of a service.

    If they are right, return why the nodes of the run could not compile it.
    """
    export = run.export
    if export is None:
        return []
    sizes = [*_sizes(export)]
    if sizes:
        return [problem.under("export") for problem in sizes]
    server = SERVERS[export.server].model_construct(
        tensor_parallel=export.tensor_parallel,
        batch_size=export.batch_size,
        sequence_length=export.sequence_length,
    )
    if neuron_instance(export.instance_type) is None:
        return [_no_neuron(export)]
    found = check_server_on(server, export.instance_type, None)
    found = found or check_fit(server, Model.model_construct(s3_uri=export.to, shape=run.shape), export.instance_type)
    return [_of_export(problem) for problem in found] or [*_environment(export, run.partition)]


def _environment(export: ServedExport, partition: TrainingPartition) -> Iterator[Problem]:
    """A training environment has no exporter, and a server rejects the output of another Neuron release's compiler."""
    name, names = export.environment, partition.environments
    if is_unresolved(name):
        return
    if name is None:
        yield from _nothing_compiles(export, partition)
    elif names is not None and name not in names:
        yield Problem(
            code=Code.JOB_EXPORT,
            message="the nodes of the partition have no environment with this name",
            remedy=did_you_mean(name, names, otherwise="add it to `training: environments`, for their group"),
            path=("export", "environment"),
            value=name,
            allowed=", ".join(names),
        )


def _nothing_compiles(export: ServedExport, partition: TrainingPartition) -> Iterator[Problem]:
    server, there = export.server.value, partition.exports_for
    if server not in model_exports() or there is None or server in there:
        return
    accelerator = accelerator_of(partition.instance_type)
    families = model_servers()[server].families
    if accelerator is None:
        return  # `check_place` reports the unknown type.
    if accelerator.family not in families:
        what = f"the image of {server} cannot compile on {partition.instance_type}: it needs {' or '.join(families)}"
        remedy = f"remove `export`, and export the trained model with ModelExport, on a host of {' or '.join(families)}"
    elif there:
        what = (
            f"the environment for exports uses the image of {' and '.join(there)}, and {server} loads only models that "
            "its own image compiled"
        )
        remedy = f"write `server: {server}` in that environment, or export for {there[0]}"
    else:
        what = (
            f"{server} loads only models that its own image compiled, and {partition.name} has no environment with it"
        )
        remedy = (
            f"add `export: {{kind: server, server: {server}}}` to `training: environments` of its cluster{_IN_PYTHON}"
        )
    yield Problem(code=Code.JOB_EXPORT_ENVIRONMENT, message=what, remedy=remedy, path=("export", "environment"))


def _of_export(problem: Problem) -> Problem:
    """Return a problem of the server at the path of the export's attributes."""
    return replace(problem, path=("server",) if problem.path == ("kind",) else problem.path).under("export")


def _sizes(export: ServedExport) -> Iterator[Problem]:
    for name in ("tensor_parallel", "batch_size", "sequence_length"):
        what = name.replace("_", " ")
        yield from check_number(getattr(export, name), Limit(minimum=1), Code.JOB_EXPORT, name, what=what)


def _no_neuron(export: ServedExport) -> Problem:
    return Problem(
        code=Code.JOB_EXPORT,
        message="the servers need an instance type with Neuron devices",
        remedy="write `inf2.xlarge`, or a larger instance type of inf2",
        path=("export", "instance_type"),
        value=export.instance_type,
    )


_NEXT_TO = {"name": "run", "folder": None, "steps": 1, "warmup_steps": None, "seed": None}
"""Values that replace CDK tokens in attributes that do not affect how a run is spread."""


def check_run(run: PlacedRun) -> list[Problem]:
    """Return everything that is wrong with `run`, each mistake once.

    Rules over several values run only when each of these values is right by itself.
    """
    tokens = [*check_run_known(run), *(each.under("partition") for each in check_partition(run.partition))]
    wrong = wrong_names(tokens)
    own = [*tokens]
    if "name" not in wrong:
        own += check_run_name(run.name)
    if "checkpoint" not in wrong:
        own += check_numbers(run)
    if not wrong & {"model", "data", "partition", "revision"}:
        own += check_sources(run)
    if not wrong & {"folder", "partition"}:
        own += check_folder(run)
    if not wrong & {"model", "data", "partition", "checkpoint", "export"}:
        own += _elsewhere(check_buckets(run), own)
    if not any(problem.code is Code.JOB_PLACE and problem.path == ("model",) for problem in own):
        own += _of_size(run, wrong)
    if SPREAD & wrong_names(own) - {"model"}:
        return own
    run = run.model_copy(update={name: value for name, value in _NEXT_TO.items() if name in wrong})
    place = check_place(run)
    if any(problem.code in (Code.JOB_PARTITION, Code.JOB_BACKEND) for problem in place):
        return [*own, *place]
    there = _on_its_nodes(run)
    plan = planned(there)
    room = check_room(run, plan) if plan is not None and "checkpoint" not in wrong_names(own) else ()
    return [*own, *place, *check_spread(there), *room]


def _on_its_nodes(run: PlacedRun) -> PlacedRun:
    """Return `run` with the partition's number of nodes where it requests more, so that the other rules can run."""
    there = run.partition.nodes
    return run.model_copy(update={"nodes": there}) if run.nodes is not None and run.nodes > there else run


def _of_size(run: PlacedRun, wrong: frozenset[str]) -> list[Problem]:
    if wrong & {"model", "shape"}:
        return []
    found = check_size(run)
    return found if found or "export" in wrong else check_export(run)


def _elsewhere(found: Iterator[Problem], others: list[Problem]) -> Iterator[Problem]:
    """Return the problems whose path none of `others` has."""
    return (problem for problem in found if problem.path not in [each.path for each in others])
