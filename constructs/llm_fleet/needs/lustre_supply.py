"""What a Lustre file system gives."""

from dataclasses import dataclass

from llm_fleet.catalog.lustre import lustre_need_facts
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.lustre_settings import LustreSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreSupply:
    """The throughput of the fleet's file system."""

    settings: LustreSettings
    mb_per_second: int
    """MB/s of the whole file system, at all times."""


def lustre_supply(fleet: Fleet) -> LustreSupply | None:
    """Return what the file system of `fleet` gives; `None` without one, and for an existing one."""
    fsx = fleet.storage.fsx
    if fsx is None or fsx.existing is not None:
        return None
    throughput = mb_per_second(fsx.settings)
    return None if throughput is None else LustreSupply(settings=fsx.settings, mb_per_second=throughput)


def mb_per_second(settings: LustreSettings) -> int | None:
    """Return MB/s of the whole file system; `None` where the settings do not tell."""
    whole, size = settings.effective_throughput_capacity, settings.effective_capacity_gib
    if whole is not None or size is None:
        return whole
    facts = lustre_need_facts()
    each = settings.effective_throughput or facts.scratch_mb_per_tib
    return size * each // facts.gib_per_tib
