"""Whether models can be exported in an environment that is for that, on the nodes that have it."""

from collections.abc import Iterator

from llm_fleet.catalog.model_server import image_regions, model_exports, model_servers
from llm_fleet.catalog.network import regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.image import image_of
from llm_fleet.rules.training.locked import plain
from llm_fleet.rules.training.place import TrainingGroup, TrainingPlace, neuron_families
from llm_fleet.rules.training.planned import PlannedEnvironment, families_of
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse

_EXPORTER = "optimum-neuron"


def check_exporting(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return why `environment` is none that models are exported in; nothing for one that is not meant to be."""
    if environment.kind is EnvironmentKind.SERVER:
        found = list(_server(environment, place))
    elif environment.use == EnvironmentUse.EXPORT:
        found = list(_exporter(environment))
    else:
        return []
    return found or list(_groups(environment, place))


def _server(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    kind = environment.given.server_kind
    if kind is None or kind not in model_exports():
        known = kind in model_servers()
        yield _problem(
            "the image of this server has no exporter: it compiles what it does not find when it starts"
            if known
            else "there is no such server",
            "leave this environment out: a job's export for it needs none"
            if known
            else did_you_mean(str(kind), list(model_exports()), otherwise="write one of those allowed"),
            "server_kind",
            str(kind),
            allowed=", ".join(model_exports()),
        )
    elif environment.use != EnvironmentUse.EXPORT:
        yield _problem(
            "jobs do not train in the image of a server", "leave `use` out", "use", environment.use.value, allowed=""
        )
    elif image_of(environment, place) is None:
        facts = model_servers()[kind]
        yield _problem(
            f"the image of {facts.title} is not offered in {place.region}"
            if place.region in regions()
            else "which registry has this image depends on the region, and nobody knows that yet",
            "copy the image to a private ECR repository in the region, and name that: kind container, use export",
            "server_kind",
            kind.value,
            allowed=", ".join(image_regions(facts.accounts)) if facts.accounts else "",
        )


def _exporter(environment: PlannedEnvironment) -> Iterator[Problem]:
    """Return that there is no exporter; whether an image of one's own has one is for the job to find out."""
    if environment.kind is EnvironmentKind.SMP:
        yield _problem("the image of SMP v2 is for GPUs, and has no exporter", "leave `use` out", "use", "export")
    elif environment.kind is not EnvironmentKind.CONTAINER and _EXPORTER not in {
        plain(each.name) for each in environment.wanted
    }:
        yield _problem(
            f"models are exported by {_EXPORTER}, and this environment does not have it",
            f"take the server's own image, kind {EnvironmentKind.SERVER.value}; or add {_EXPORTER} to its packages, "
            "with the compiler of the server's image",
            "use",
            "export",
        )


def _groups(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    known = families_of(environment.given, environment.stack)
    groups = {group.name: group for group in place.compute_groups}
    for index, name in enumerate(environment.given.groups or ()):
        wrong = _wrong(groups[name], known) if name in groups else None
        if wrong is not None:
            yield Problem(
                code=Code.TRAINING_EXPORT,
                message=wrong,
                remedy="name groups with Neuron devices that it runs on, or leave `groups` out for all of them",
                path=("groups", index),
                value=name,
                allowed=", ".join(each.name for each in groups.values() if _wrong(each, known) is None),
            )


def _wrong(group: TrainingGroup, known: tuple[str, ...] | None) -> str | None:
    families = neuron_families(group)
    if not families:
        return "models are exported on Neuron devices, and this group has none"
    if known is not None and not set(families) <= set(known):
        return f"this environment runs on {' and '.join(known)}, and this group is {' and '.join(families)}"
    return None


def _problem(message: str, remedy: str, path: str, value: str, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.TRAINING_EXPORT, message=message, remedy=remedy, path=(path,), value=value, allowed=allowed
    )
