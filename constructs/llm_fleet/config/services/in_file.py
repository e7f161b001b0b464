"""Where the fleet file has what a rule of inference services found."""

from dataclasses import replace

from llm_fleet.config.services.in_words import in_words
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.rules.problem import PathPart, Problem

_OF_SERVICE = {
    ("hosts", "instance_type"),
    ("scaling", "desired"),
    ("scaling", "minimum"),
    ("scaling", "maximum"),
}
"""What the rules ask of a part, and the file has beside it."""


def in_file(problem: Problem, service: ServiceConfig) -> Problem:
    """Return a problem of `service` by the attributes of the fleet: the region is the fleet's."""
    problem = in_words(problem)
    path = problem.path
    if path[:1] == ("region",):
        return problem
    if path[:2] in _OF_SERVICE:
        path = path[1:]
    elif path == ("model", "location"):
        return _located(problem, service.model).under("services", service.name)
    return replace(problem, path=path).under("services", service.name)


def _located(problem: Problem, model: ServedModelConfig) -> Problem:
    """Return a problem of the model's place where the user told it."""
    written: dict[PathPart, str | None] = {
        "prefix": model.prefix if model.bucket is not None else None,
        "hub_id": model.hub_id,
        "image_path": model.image_path,
        "s3_uri": model.s3_uri,
    }
    for attribute, value in written.items():
        if value is not None:
            return replace(problem, path=("model", attribute), value=value)
    return replace(problem, path=("model",))
