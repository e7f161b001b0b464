"""The folder of a job: its batch file with settings filled in, from a training run or the fleet file."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from llm_fleet.catalog.training_environments import job_stages, shared_settings
from llm_fleet.fleet_file.check_jobs import find_partition, served
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.jobs import JobConfig
from llm_fleet.jobs.batch_file import RUN, BatchFile, check_directive, template, unknown_setting
from llm_fleet.jobs.settings import (
    Setting,
    TrainingRun,
    check_stages,
    check_value,
    directives,
    quoted,
    run_settings,
    stage_settings,
    stages_of,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem, raise_problems
from llm_fleet.rules.training.smp_run import check_smp_run, run_values
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import TrainingRunSpec
from llm_fleet.spec.smp import SmpConfiguration

_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=\[\]~*-]+")
"""Characters of a value in a line #SBATCH that need no quotes; others are not allowed, because quoting differs by
version."""


def render_batch_file(
    text: str,
    *,
    settings: Mapping[str, str | int | float | bool] | None = None,
    directives: Mapping[str, str | int | None] | None = None,
    subject: str = "",
) -> str:
    """Return the batch file `text` with other `settings` and `directives` (options of sbatch by their long names).

    A value is text: bash on the node reads it unchanged, and never executes anything in it. A directive with value
    `None` is an option without a value, e.g. `{"exclusive": None}`; an option that the file does not have is added.
    Other settings and options stay. Raises `FleetError` (LF881 to LF883) with all settings and values that the file
    cannot have.
    """
    file = BatchFile.parse(text)
    wanted = {name: _text(value) for name, value in (settings or {}).items()}
    options = {name: None if value is None else str(value) for name, value in (directives or {}).items()}
    raise_problems([*_check_settings(file, wanted), *_check_directives(options)], subject=subject)
    lines = _with_settings(file, wanted)
    return "\n".join(_with_directives(file, lines, options))


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_settings(file: BatchFile, wanted: Mapping[str, str]) -> Iterable[Problem]:
    if wanted and (file.begin is None or file.end is None):
        yield Problem(
            code=Code.BATCH_SETTINGS,
            message="the batch file has no block of settings",
            remedy="use llm-fleet's batch files, or fix the lines around its settings",
        )
        return
    names = [one.name for one in file.settings]
    for name, value in wanted.items():
        if name not in names:
            yield unknown_setting(name, names)
        yield from check_value(name, value)


def _check_directives(options: Mapping[str, str | None]) -> Iterable[Problem]:
    for name, value in options.items():
        yield from check_directive(name)
        if value is not None and not _PLAIN.fullmatch(value):
            yield Problem(
                code=Code.BATCH_DIRECTIVE,
                message="this value is not allowed in a line #SBATCH",
                value=value,
                allowed="letters, digits and _ . / : , @ % + = [ ] ~ * -",
                remedy="pass it to sbatch on the command line instead",
                path=(name,),
            )


def _with_settings(file: BatchFile, wanted: Mapping[str, str]) -> list[str]:
    lines = list(file.lines)
    if not wanted:
        return lines
    values = {one.name: quoted(wanted[one.name]) if one.name in wanted else one.text for one in file.settings}
    width = max((len(one.name) + 1 + len(values[one.name]) for one in file.settings if one.comment), default=0)
    for one in file.settings:
        lines[one.line - 1] = _line(one, values[one.name], width)
    return lines


def _line(setting: Setting, text: str, width: int) -> str:
    assignment = f"{setting.name}={text}"
    return f"{assignment:<{width}} # {setting.comment}" if setting.comment else assignment


def _with_directives(file: BatchFile, lines: list[str], options: Mapping[str, str | None]) -> list[str]:
    rest = {name: f"#SBATCH --{name}" + ("" if value is None else f"={value}") for name, value in options.items()}
    last = 0
    for one in file.directives:
        last = max(last, one.line)
        if one.name in rest:
            lines[one.line - 1] = rest.pop(one.name)
    return [*lines[: last or 1], *rest.values(), *lines[last or 1 :]]


SMP = "smp_config.json"
"""Configuration file of the SageMaker model parallel library."""


def render_run(
    run: TrainingRun, *, stages: Sequence[str] | None = None, settings: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Return the files of `run` by name: `run.sh`, and a batch file for each of `stages` (default: all stages of the
    run).

    `settings` are those that the run itself does not set, e.g. `COMPILE_STEPS`. The files must stay together in one
    folder. Raises `FleetError` (LF882 to LF884) with all errors.
    """
    chosen = stages_of(run) if stages is None else tuple(stages)
    own = dict(settings or {})
    shared = dict(run_settings(run))
    of_stages = {name: dict(stage_settings(run, name)) for name in job_stages()}
    raise_problems(
        [
            *check_stages(chosen, stages_of(run), why=f"run {run.name!r} has no such stage"),
            *_check_own(own, {*shared, *(name for one in of_stages.values() for name in one)}),
            *check_known(own, chosen),
        ],
        subject=f"run {run.name}",
    )
    files = _render(chosen, shared, of_stages, own, {name: directives(run, name) for name in chosen})
    if run.smp is not None:
        files[SMP] = render_smp(run.smp, run)
    return files


def render_smp(smp: SmpConfiguration, run: TrainingRunSpec) -> str:
    """Return the text of `smp_config.json`: the values of `smp`, completed with those of `run`.

    Raises `FleetError` if both set a degree and the values differ.
    """
    raise_problems(check_smp_run(smp, run), subject="smp")
    return json.dumps(smp.model_copy(update=run_values(smp, run)).for_library, indent=2) + "\n"


def render_stages(
    stages: Sequence[str] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    options: Mapping[str, str | None] | None = None,
) -> Mapping[str, str]:
    """Return the same files without a run: values that are not in `settings` stay as in llm-fleet's batch files.

    `options` are those of sbatch, for all stages. Combinations of values are not checked. Raises `FleetError` (LF882 to
    LF884).
    """
    chosen = tuple(job_stages()) if stages is None else tuple(stages)
    own = dict(settings or {})
    raise_problems([*check_stages(chosen, job_stages()), *check_known(own, chosen)], subject="jobs render")
    return _render(chosen, {}, {}, own, {name: options or {} for name in chosen})


def check_known(settings: Iterable[str], stages: Iterable[str]) -> list[Problem]:
    """Check that each of `settings` is a setting of `run.sh` or of one of `stages`."""
    known = set(shared_settings().settings)
    for stage in stages:
        known |= set(job_stages()[stage].settings if stage in job_stages() else ())
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="unknown setting: no batch file has it",
            value=name,
            remedy=did_you_mean(name, known, otherwise="`llm-fleet jobs list --json` prints all settings"),
        )
        for name in settings
        if name not in known
    ]


def _check_own(settings: Iterable[str], of_run: set[str]) -> list[Problem]:
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="the run in the fleet file already sets this",
            value=name,
            remedy="change it in the fleet file, so that it is checked together with the other settings",
        )
        for name in settings
        if name in of_run
    ]


def _render(
    stages: Sequence[str],
    shared: Mapping[str, str],
    of_stages: Mapping[str, Mapping[str, str]],
    own: Mapping[str, str],
    options: Mapping[str, Mapping[str, str | None]],
) -> dict[str, str]:
    files = {RUN: render_batch_file(template(RUN), settings={**shared, **_of(own, shared_settings().settings)})}
    for name in stages:
        settings = {**of_stages.get(name, {}), **_of(own, job_stages()[name].settings)}
        text = render_batch_file(template(name), settings=settings, directives=options[name], subject=f"stage {name}")
        files[job_stages()[name].file] = text
    return files


def _of(own: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: own[name] for name in names if name in own}


def training_runs(fleet: Fleet) -> Mapping[str, TrainingRun]:
    """Return the jobs of `fleet`, which must be loaded without errors, as runs by name."""
    return {name: training_run(job, fleet) for name, job in fleet.jobs.items()}


def training_run(job: JobConfig, fleet: Fleet) -> TrainingRun:
    """Return `job` of `fleet` as a run. Raises `FleetError` if the fleet has not been checked by the loader and has
    errors."""
    found = find_partition(job, fleet)
    if isinstance(found, Problem):
        raise FleetError([found.under("jobs", job.name)])
    return TrainingRun(**vars(job.placed(found.partition, export=served(job, fleet))))
