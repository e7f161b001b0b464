"""The batch files of a run, with its values in them."""

import json
from collections.abc import Iterable, Mapping, Sequence

from llm_fleet.catalog.job_settings import job_stages, shared_settings
from llm_fleet.jobs.render_batch_file import render_batch_file
from llm_fleet.jobs.settings import directives, run_settings, stage_settings
from llm_fleet.jobs.stages import check_stages, stages_of
from llm_fleet.jobs.templates import RUN, template
from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.training.smp_run import SmpRunLike, check_smp_run, run_values
from llm_fleet.spec.smp import SmpConfiguration

SMP = "smp_config.json"
"""What the SageMaker model parallel library reads."""


def render_run(
    run: TrainingRun, *, stages: Sequence[str] | None = None, settings: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Return the files of `run` by their names: `run.sh`, and a batch file for each of `stages` (default: all it has).

    `settings` are those that the run itself does not tell, e.g. `COMPILE_STEPS`. The files belong together in one
    folder. Raises `FleetError` (LF882 to LF884) with all that is wrong.
    """
    chosen = stages_of(run) if stages is None else tuple(stages)
    own = dict(settings or {})
    shared = dict(run_settings(run))
    told = {name: dict(stage_settings(run, name)) for name in job_stages()}
    raise_problems(
        [
            *check_stages(chosen, stages_of(run), why=f"run {run.name!r} has no such stage"),
            *_check_own(own, {*shared, *(name for one in told.values() for name in one)}),
            *check_known(own, chosen),
        ],
        subject=f"run {run.name}",
    )
    files = _render(chosen, shared, told, own, {name: directives(run, name) for name in chosen})
    if run.smp is not None:
        files[SMP] = render_smp(run.smp, run)
    return files


def render_smp(smp: SmpConfiguration, run: SmpRunLike) -> str:
    """Return the text of `smp_config.json`: what is set in `smp`, and what it leaves to `run`.

    Raises `FleetError` where both have a degree and differ.
    """
    raise_problems(check_smp_run(smp, run), subject="smp")
    return json.dumps(smp.model_copy(update=run_values(smp, run)).for_library, indent=2) + "\n"


def render_stages(
    stages: Sequence[str] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    options: Mapping[str, str | None] | None = None,
) -> Mapping[str, str]:
    """Return the same without a run: what is not in `settings` is as the batch files are shipped.

    `options` are those of sbatch, for all stages. Whether values go together is not judged. Raises `FleetError`
    (LF882 to LF884).
    """
    chosen = tuple(job_stages()) if stages is None else tuple(stages)
    own = dict(settings or {})
    raise_problems([*check_stages(chosen, job_stages()), *check_known(own, chosen)], subject="jobs render")
    return _render(chosen, {}, {}, own, {name: options or {} for name in chosen})


def check_known(settings: Iterable[str], stages: Iterable[str]) -> list[Problem]:
    """Check that each of `settings` is one of `run.sh` or of one of `stages`."""
    known = set(shared_settings().settings)
    for stage in stages:
        known |= set(job_stages()[stage].settings if stage in job_stages() else ())
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="none of the batch files has a setting of this name",
            value=name,
            remedy=did_you_mean(name, known, otherwise="`llm-fleet jobs list --json` tells all that there are"),
        )
        for name in settings
        if name not in known
    ]


def _check_own(settings: Iterable[str], told: set[str]) -> list[Problem]:
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="the run in the fleet file tells this already",
            value=name,
            remedy="change it there, so that it is checked with all the rest",
        )
        for name in settings
        if name in told
    ]


def _render(
    stages: Sequence[str],
    shared: Mapping[str, str],
    told: Mapping[str, Mapping[str, str]],
    own: Mapping[str, str],
    options: Mapping[str, Mapping[str, str | None]],
) -> dict[str, str]:
    files = {RUN: render_batch_file(template(RUN), settings={**shared, **_of(own, shared_settings().settings)})}
    for name in stages:
        settings = {**told.get(name, {}), **_of(own, job_stages()[name].settings)}
        text = render_batch_file(template(name), settings=settings, directives=options[name], subject=f"stage {name}")
        files[job_stages()[name].file] = text
    return files


def _of(own: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: own[name] for name in names if name in own}
