"""What `llm-fleet jobs list` says."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.job_settings import JobSetting, job_stages, shared_settings

if TYPE_CHECKING:
    from llm_fleet.jobs.training_run import TrainingRun


def listing_text(runs: "Mapping[str, TrainingRun] | None") -> str:
    """Return the stages, and the runs of a fleet file where there is one, for people."""
    width = max(map(len, job_stages())) + 2
    lines = ["stages:", *(f"  {name:<{width}}{stage.summary}" for name, stage in job_stages().items())]
    if runs is None:
        return "\n".join([*lines, ""])
    lines += ["", "runs:" if runs else "runs: none; name them under `jobs:` in the fleet file"]
    width = max(map(len, runs), default=0) + 2
    for name, run in runs.items():
        lines += [f"  {name:<{width}}{_in_words(run)}", *(f"  {'':<{width}}{line}" for line in _fit(run))]
    return "\n".join([*lines, ""])


def listing_json(runs: "Mapping[str, TrainingRun] | None") -> str:
    """Return the same as JSON, with every setting of every stage."""
    stages = {
        name: {"file": stage.file, "summary": stage.summary, "settings": _settings(stage.settings)}
        for name, stage in job_stages().items()
    }
    told: dict[str, Any] = {"run_settings": _settings(shared_settings().settings), "stages": stages}
    if runs is not None:
        told["runs"] = {name: _facts(run) for name, run in runs.items()}
    return json.dumps(told, indent=2) + "\n"


def _in_words(run: "TrainingRun") -> str:
    facts = _facts(run)
    nodes = f"{facts['nodes']} node{'' if facts['nodes'] == 1 else 's'}"
    place = f"cluster {facts['cluster']}, partition {facts['partition']}"
    return f"{facts['model']} by {facts['backend']} on {nodes} of {place}"


def _fit(run: "TrainingRun") -> list[str]:
    """Return how a run is spread, what a process of it takes, as estimated, and what else is to be known of it."""
    from llm_fleet.rules.inference.memory import in_gib
    from llm_fleet.rules.training.run.memory_words import breakdown, spread
    from llm_fleet.rules.training.run.smp import smp_remarks_of

    lines, memory = [spread(run.plan)], run.memory
    if memory is not None:
        of = f"{in_gib(memory.total)} of {in_gib(memory.usable)} that a process may fill"
        lines.append(f"estimated {of}: {breakdown(memory)}")
    return [*lines, *(f"note: {remark}" for remark in smp_remarks_of(run))]


def _facts(run: "TrainingRun") -> dict[str, Any]:
    from llm_fleet.jobs.stages import stages_of
    from llm_fleet.rules.training.run.memory_words import spread
    from llm_fleet.rules.training.run.smp import smp_remarks_of

    return {
        "model": run.model,
        "backend": run.plan.backend.value,
        "nodes": run.plan.nodes,
        "cluster": run.partition.cluster,
        "partition": run.partition.name,
        "folder": run.plan.folder,
        "spread": spread(run.plan),
        "memory": None if run.memory is None else asdict(run.memory),
        "remarks": smp_remarks_of(run),
        "stages": list(stages_of(run)),
    }


def _settings(settings: Mapping[str, JobSetting]) -> dict[str, Any]:
    return {name: {"default": one.default, "text": one.text, "comment": one.comment} for name, one in settings.items()}
