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
    """Return a problem that a rule found of `service`, by its attributes in the file, and in the file's words."""
    problem = in_words(problem)
    path = problem.path[1:] if problem.path[:2] in _OF_SERVICE else problem.path
    return at_place(replace(problem, path=path), "model", model=service.model)


def at_place(problem: Problem, *prefix: PathPart, model: ServedModelConfig) -> Problem:
    """Return a problem of the place of `model`, which stands under `prefix`, where the user told it."""
    if problem.path != (*prefix, "location"):
        return problem
    written: dict[PathPart, str | None] = {
        "prefix": model.prefix if model.bucket is not None else None,
        "hub_id": model.hub_id,
        "image_path": model.image_path,
        "s3_uri": model.s3_uri,
    }
    for attribute, value in written.items():
        if value is not None:
            return replace(problem, path=(*prefix, attribute), value=value)
    return replace(problem, path=prefix)
