"""What a Lustre file system gives, and what a training run wants of it when it saves itself."""

import math
from dataclasses import dataclass

from llm_fleet.catalog.fsx import lustre_need_facts
from llm_fleet.catalog.limit import Steps
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.spec.lustre import LustreSpec

_MB = 1000**2
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreSupply:
    """The throughput of the fleet's file system."""

    spec: LustreSpec
    mb_per_second: int
    """MB/s of the whole file system, at all times."""


def lustre_supply(fleet: Fleet) -> LustreSupply | None:
    """Return what the file system of `fleet` gives; `None` without one, and for an existing one."""
    fsx = fleet.storage.fsx
    if fsx is None or fsx.existing is not None:
        return None
    throughput = mb_per_second(fsx)
    return None if throughput is None else LustreSupply(spec=fsx, mb_per_second=throughput)


def mb_per_second(spec: LustreSpec) -> int | None:
    """Return MB/s of the whole file system; `None` where the description does not say."""
    whole, size = spec.effective_throughput_capacity, spec.effective_capacity_gib
    if whole is not None or size is None:
        return whole
    facts = lustre_need_facts()
    each = spec.effective_throughput or facts.scratch_mb_per_tib
    return size * each // facts.gib_per_tib


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointNeed:
    """One run, and how long it stands still for each checkpoint."""

    run: str
    nodes: int
    checkpoint_bytes: int
    """Estimated: weights and the optimizer's state."""
    supply: LustreSupply

    @property
    def seconds(self) -> float:
        """How long a checkpoint takes to be written, when nobody else writes."""
        return self.checkpoint_bytes / _MB / self.supply.mb_per_second

    @property
    def wanted_mb_per_second(self) -> int:
        """MB/s with which it would be written within the rule of thumb's time."""
        return math.ceil(self.checkpoint_bytes / _MB / (lustre_need_facts().checkpoint_minutes * _SECONDS))

    @property
    def short(self) -> bool:
        """Whether the file system gives less."""
        return self.wanted_mb_per_second > self.supply.mb_per_second

    @property
    def remedy(self) -> str:
        """What to write under `storage.fsx` so that it suffices: a throughput that is sold, else a larger size."""
        spec, wanted = self.supply.spec, self.wanted_mb_per_second
        variant, size = spec.variant, spec.effective_capacity_gib
        if variant is None or size is None:
            return f"write `throughput: {_sold(variant and variant.throughput_capacity, wanted)} MB/s`"
        tib = size / lustre_need_facts().gib_per_tib
        for throughput in sorted(variant.throughputs):
            tier = variant.tier(throughput)
            if throughput * tib >= wanted and tier is not None and tier.capacity.accepts(size):
                return f"write `throughput: {throughput} MB/s/TiB`"
        most = max(variant.throughputs, default=lustre_need_facts().scratch_mb_per_tib)
        tier = variant.tier(most) or variant.tiers[0]
        needed = math.ceil(wanted / most * lustre_need_facts().gib_per_tib)
        larger = _sold(tier.capacity, needed)
        told = f"`throughput: {most} MB/s/TiB` and " if variant.throughputs else ""
        return f"write {told}`size: {larger} GiB`"


def _sold(steps: Steps | None, wanted: int) -> int:
    """Return the least amount on the ladder that is `wanted` or more."""
    if steps is None or steps.accepts(wanted):
        return wanted
    return steps.nearest(wanted)[1] or wanted
