"""The exports of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from llm_fleet.catalog.model_server import tools_image
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.config.services.export import ExportConfig
from llm_fleet.config.services.in_file import at_place
from llm_fleet.config.services.in_words import in_words
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.rules.inference.closed_network import check_pulled_image
from llm_fleet.rules.inference.export import check_export, check_export_host, check_export_network, export_instance
from llm_fleet.rules.inference.model import check_model
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.server import cores_of
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import InternetAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointView:
    """A checkpoint that is exported (`ModelLike`): what `model` of a service says, but not compiled by default."""

    config: ServedModelConfig
    shape: ShapeLike | None
    """As told of it, else that of the model that becomes of it."""

    @property
    def source(self) -> ModelSource:
        """As written."""
        return self.config.source

    @property
    def location(self) -> str:
        """As written."""
        return self.config.location

    @property
    def revision(self) -> str | None:
        """As written."""
        return self.config.revision

    @property
    def token_secret_arn(self) -> str | None:
        """As written."""
        return self.config.token_secret_arn

    @property
    def compiled(self) -> bool:
        """As written, else it is not."""
        return self.config.own_compiled is True

    @property
    def served_name(self) -> str | None:
        """As written."""
        return self.config.served_name


def check_service_export(service: ServiceConfig, *, region: str, internet: InternetAccess | None) -> Iterator[Problem]:
    """Return what is wrong with the export of `service`, by its attribute names. Ask only of a service that is right.

    `internet`: of the network that it runs in; `None` where nobody told.
    """
    export = service.export
    if export is None:
        return
    source = CheckpointView(config=export.source, shape=export.source.shape or service.model.shape)
    problems = [
        *(problem.under("source") for problem in check_model(source)),
        *check_export(source, service.model, service.server, fargate=export.fargate),
        *check_export_network(source, internet),
        *check_pulled_image(export.tools_image or tools_image(), "tools_image", region=region, internet=internet),
    ]
    problems = problems or _check_host(service, export)
    yield from (_in_file(in_words(problem), service, export) for problem in problems)


def _check_host(service: ServiceConfig, export: ExportConfig) -> list[Problem]:
    serving = neuron_instance(service.instance_type)
    if export.fargate or serving is None:
        return []
    model, server = service.model, service.server
    cores = cores_of(server, serving)
    smallest = export_instance(model, server=server, cores=cores, family=serving.family)
    chosen = export.instance_type or smallest or service.instance_type
    return check_export_host(model, chosen, server=server, cores=cores)


def _in_file(problem: Problem, service: ServiceConfig, export: ExportConfig) -> Problem:
    """Return a problem where the file has it: what the construct is given once more is the service's own here."""
    path: tuple[PathPart, ...] = problem.path
    if path[:1] in (("model",), ("server",)):
        return at_place(problem, "model", model=service.model)
    if path[:2] == ("hosts", "instance_type"):
        path = path[1:]
    return at_place(replace(problem, path=("export", *path)), "export", "source", model=export.source)
