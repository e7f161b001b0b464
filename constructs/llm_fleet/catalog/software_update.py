"""What an update of the image of nodes destroys, and what it keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that an update loses or keeps."""

    what: str
    where: str
    """Where it is, and what of it."""
    on: str
    """On which nodes."""
    assumption: str | None
    """Id of the entry in the register of assumptions; `None` where a document of AWS or SchedMD proves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareUpdate:
    """The facts."""

    lost: tuple[Effect, ...]
    controller_lost: tuple[Effect, ...]
    """Besides, where the controller is among the groups."""
    kept: tuple[Effect, ...]
    order: tuple[str, ...]
    """Roles in Slurm, those first that must be updated first."""
    tries: str
    """What HyperPod does when scripts fail in an update."""
    parallelcluster_lost: tuple[Effect, ...]
    service_lost: tuple[Effect, ...]


@cache
def software_update() -> SoftwareUpdate:
    """Return the facts, read once a process."""
    facts = load("software_update")
    return SoftwareUpdate(
        lost=_effects(facts["lost"]),
        controller_lost=_effects(facts["controller_lost"]),
        kept=_effects(facts["kept"]),
        order=tuple(facts["order"]),
        tries=facts["tries"],
        parallelcluster_lost=_effects(facts["parallelcluster_lost"]),
        service_lost=_effects(facts["service_lost"]),
    )


def _effects(rows: list[Mapping[str, Any]]) -> tuple[Effect, ...]:
    return tuple(
        Effect(what=row["what"], where=row["where"], on=row.get("on", ""), assumption=row.get("assumption"))
        for row in rows
    )
