"""What the Lustre file system gives, and what the fleet wants of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.lustre import lustre_need_facts
from llm_fleet.cli.plan.section import Section
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.checkpoint_need import CheckpointNeed
from llm_fleet.needs.lustre_supply import LustreSupply, lustre_supply
from llm_fleet.needs.machines import machines_of
from llm_fleet.needs.terms import MachineService

if TYPE_CHECKING:
    from llm_fleet.jobs.training_run import TrainingRun

_COLUMNS = (
    Column(key="run", title="RUN"),
    Column(key="nodes", title="NODES", right=True),
    Column(key="checkpoint", title="CHECKPOINT", right=True),
    Column(key="seconds", title="WRITTEN IN", right=True),
    Column(key="wanted", title="WANTS", right=True),
    Column(key="verdict", title=""),
)
_CLUSTERS = (MachineService.HYPERPOD, MachineService.PARALLELCLUSTER)
_GB = 1000**3


def lustre_section(fleet: Fleet) -> Section | None:
    """Return the section; `None` where the fleet makes no Lustre file system."""
    supply = lustre_supply(fleet)
    if supply is None:
        return None
    nodes = sum(machines.count for machines in machines_of(fleet) if machines.service in _CLUSTERS)
    needs = list(_needs(fleet, supply))
    return Section(
        key="lustre",
        title="Lustre",
        parts=[
            _in_words(supply, nodes),
            *([Table(columns=_COLUMNS, rows=[_row(need) for need in needs]), _rule()] if needs else []),
            *(
                Toned(f"remark: {need.run}: {need.remedy} under storage.fsx", Tone.WARNING)
                for need in needs
                if need.short
            ),
        ],
        data=_data(supply, nodes, needs),
    )


def _needs(fleet: Fleet, supply: LustreSupply) -> list[CheckpointNeed]:
    if not fleet.jobs:
        return []
    from llm_fleet.jobs.from_fleet import training_runs
    from llm_fleet.rules.training.run.storage import checkpoint_bytes

    runs: Mapping[str, TrainingRun] = training_runs(fleet)
    return [
        CheckpointNeed(
            run=name,
            nodes=run.plan.nodes,
            checkpoint_bytes=checkpoint_bytes(run.plan, run.shape.parameters),
            supply=supply,
        )
        for name, run in runs.items()
        if run.shape is not None
    ]


def _in_words(supply: LustreSupply, nodes: int) -> str:
    whole = f"{supply.mb_per_second:,} MB/s for all nodes together"
    return (
        f"{whole}; {supply.mb_per_second / nodes:,.0f} MB/s for each of {nodes:,} when all read at once"
        if nodes
        else whole
    )


def _rule() -> str:
    minutes = lustre_need_facts().checkpoint_minutes
    return (
        f"wants: a checkpoint in {minutes} minutes, a rule of thumb without a source; training stands still meanwhile"
    )


def _row(need: CheckpointNeed) -> dict[str, Cell]:
    return {
        "run": need.run,
        "nodes": need.nodes,
        "checkpoint": f"{need.checkpoint_bytes / _GB:,.0f} GB",
        "seconds": f"{need.seconds:,.0f} s",
        "wanted": f"{need.wanted_mb_per_second:,} MB/s",
        "verdict": Toned("short", Tone.WARNING) if need.short else Toned("enough", Tone.GOOD),
    }


def _data(supply: LustreSupply, nodes: int, needs: list[CheckpointNeed]) -> dict[str, Any]:
    return {
        "mb_per_second": supply.mb_per_second,
        "nodes": nodes,
        "checkpoint_minutes": lustre_need_facts().checkpoint_minutes,
        "runs": [
            {
                "run": need.run,
                "nodes": need.nodes,
                "checkpoint_bytes": need.checkpoint_bytes,
                "seconds": round(need.seconds, 1),
                "wanted_mb_per_second": need.wanted_mb_per_second,
                "short": need.short,
                "remedy": need.remedy if need.short else None,
            }
            for need in needs
        ],
    }
