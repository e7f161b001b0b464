"""All rules of a training run, in the order in which one needs the other."""

from collections.abc import Iterator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_attributes, passing_over, wrong_names
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.changed import changed
from llm_fleet.rules.training.run.export import check_export
from llm_fleet.rules.training.run.forms import CHECKPOINT, DATA, EXPORT, RUN, SPREAD
from llm_fleet.rules.training.run.known import check_known, check_server
from llm_fleet.rules.training.run.numbers import check_numbers, check_run_name
from llm_fleet.rules.training.run.partition_forms import check_partition
from llm_fleet.rules.training.run.place import check_place
from llm_fleet.rules.training.run.planned import planned
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.sources import check_size, check_sources
from llm_fleet.rules.training.run.spread import check_spread
from llm_fleet.rules.training.run.storage import check_buckets, check_folder, check_room

_BESIDE = {"name": "run", "folder": None, "steps": 1, "warmup_steps": None, "seed": None}
"""What does not say how a run is spread: of a wrong type, it is judged as this."""


def check_run(run: RunLike) -> list[Problem]:
    """Return everything that is wrong with `run`, each mistake once; a good one gives nothing.

    What judges values together waits until each of them is right by itself.
    """
    of_forms = list(_forms(run))
    wrong = wrong_names(of_forms)
    known: RunLike = passing_over(run, wrong)
    own = [*of_forms]
    if "name" not in wrong:
        own += check_run_name(run.name)
    if "checkpoint" not in wrong:
        own += check_numbers(known)
    if not wrong & {"model", "data", "partition", "revision"}:
        own += check_sources(run)
    if not wrong & {"folder", "partition"}:
        own += check_folder(run)
    if not wrong & {"model", "data", "partition", "checkpoint", "export"}:
        own += _not_told(check_buckets(run), own)
    if not any(problem.code is Code.JOB_PLACE and problem.path == ("model",) for problem in own):
        own += _of_size(run, wrong)
    if SPREAD & wrong_names(own) - {"model"}:
        return own
    run = changed(run, {name: value for name, value in _BESIDE.items() if name in wrong})
    place = check_place(run)
    if any(problem.code in (Code.JOB_PARTITION, Code.JOB_BACKEND) for problem in place):
        return [*own, *place]
    there = _on_its_nodes(run)
    plan = planned(there)
    room = check_room(run, plan) if plan is not None and "checkpoint" not in wrong_names(own) else ()
    return [*own, *place, *check_spread(there), *room]


def _on_its_nodes(run: RunLike) -> RunLike:
    """Return `run` on as many nodes as there are, where it asks for more: the rest is judged by those."""
    there = run.partition.nodes
    return changed(run, {"nodes": there}) if run.nodes is not None and run.nodes > there else run


def _forms(run: RunLike) -> Iterator[Problem]:
    found = [*check_attributes(run, RUN), *check_known(run, RUN)]
    yield from found
    wrong = wrong_names(found)
    if "partition" not in wrong:
        yield from (problem.under("partition") for problem in check_partition(run.partition))
    parts = (("data", run.data, DATA), ("checkpoint", run.checkpoint, CHECKPOINT), ("export", run.export, EXPORT))
    for name, part, forms in parts:
        if name not in wrong and part is not None:
            own = [*check_attributes(part, forms), *check_known(part, forms)]
            own += check_server(part) if name == "export" else []
            yield from (problem.under(name) for problem in own)


def _of_size(run: RunLike, wrong: frozenset[str]) -> list[Problem]:
    if wrong & {"model", "shape"}:
        return []
    found = check_size(run)
    return found if found or "export" in wrong else check_export(run)


def _not_told(found: Iterator[Problem], told: list[Problem]) -> Iterator[Problem]:
    """Return what is not told of the same place already."""
    return (problem for problem in found if problem.path not in [each.path for each in told])
