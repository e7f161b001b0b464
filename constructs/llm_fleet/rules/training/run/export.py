"""Whether the server can serve what a run exports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_server import model_exports, model_servers
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.server import check_server_on
from llm_fleet.rules.inference.terms import ModelSource, ServerKind
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.run.accelerator import accelerator_of
from llm_fleet.rules.training.run.partition import TrainingPartition
from llm_fleet.rules.training.run.protocols import ExportLike, RunLike

_IN_PYTHON = "; in Python TrainingEnvironment.server"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """The server of an export (`ServerLike`)."""

    kind: ServerKind
    tensor_parallel: int | None
    batch_size: int
    sequence_length: int
    image: str | None = None
    runtime_version: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    capabilities: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """The trained model as it is served (`ModelLike`)."""

    location: str
    shape: ShapeLike | None
    source: ModelSource = ModelSource.S3
    revision: str | None = None
    token_secret_arn: str | None = None
    compiled: bool = True
    served_name: str | None = None


def check_export(run: RunLike) -> list[Problem]:
    """Return why nothing could serve what `run` exports: server, instance type and sizes are judged as a service's.

    Then, why its nodes could not compile it.
    """
    export = run.export
    if export is None:
        return []
    sizes = [*_sizes(export)]
    if sizes:
        return [problem.under("export") for problem in sizes]
    server = _Server(
        kind=export.server,
        tensor_parallel=export.tensor_parallel,
        batch_size=export.batch_size,
        sequence_length=export.sequence_length,
    )
    if neuron_instance(export.instance_type) is None:
        return [_no_neuron(export)]
    found = check_server_on(server, export.instance_type, None)
    found = found or check_fit(server, _Served(location=export.to, shape=run.shape), export.instance_type)
    return [_of_export(problem) for problem in found] or [*_environment(export, run.partition)]


def _environment(export: ExportLike, partition: TrainingPartition) -> Iterator[Problem]:
    """A training environment has no exporter, and another release's compiler makes what the server refuses."""
    told, names = export.environment, partition.environments
    if is_unresolved(told):
        return
    if told is None:
        yield from _nothing_compiles(export, partition)
    elif names is not None and told not in names:
        yield Problem(
            code=Code.JOB_EXPORT,
            message="the nodes of the partition have no environment of this name",
            remedy=did_you_mean(told, names, otherwise="add one under `training: environments`, for their group"),
            path=("export", "environment"),
            value=told,
            allowed=", ".join(names),
        )


def _nothing_compiles(export: ExportLike, partition: TrainingPartition) -> Iterator[Problem]:
    server, there = export.server.value, partition.exports_for
    if server not in model_exports() or there is None or server in there:
        return
    accelerator = accelerator_of(partition.instance_type)
    families = model_servers()[server].families
    if accelerator is None:
        return  # Which is told of the partition.
    if accelerator.family not in families:
        what = f"nothing compiles for {server} on {partition.instance_type}: its image runs on {' and '.join(families)}"
        remedy = "leave export out, and export the trained model with ModelExport, on a host that the image runs on"
    elif there:
        what = (
            f"the environment for exports is the image of {' and '.join(there)}, and {server} takes what its own made"
        )
        remedy = f"write `server: {server}` in that environment, or export for {there[0]}"
    else:
        what = f"{server} takes what the compiler of its own image made, and no environment of {partition.name} has it"
        remedy = (
            f"add `export: {{kind: server, server: {server}}}` to `training: environments` of its cluster{_IN_PYTHON}"
        )
    yield Problem(code=Code.JOB_EXPORT_ENVIRONMENT, message=what, remedy=remedy, path=("export", "environment"))


def _of_export(problem: Problem) -> Problem:
    """Return a problem of the server by the export's attributes."""
    return replace(problem, path=("server",) if problem.path == ("kind",) else problem.path).under("export")


def _sizes(export: ExportLike) -> Iterator[Problem]:
    for name in ("tensor_parallel", "batch_size", "sequence_length"):
        what = name.replace("_", " ")
        yield from check_number(getattr(export, name), Limit(minimum=1), Code.JOB_EXPORT, name, what=what)


def _no_neuron(export: ExportLike) -> Problem:
    return Problem(
        code=Code.JOB_EXPORT,
        message="the servers run on instances with Neuron devices, and this is none",
        remedy="write 'inf2.xlarge', or a larger one",
        path=("export", "instance_type"),
        value=export.instance_type,
    )
