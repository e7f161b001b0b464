"""Writes values into a batch file."""

import re
from collections.abc import Iterable, Mapping

from llm_fleet.jobs.batch_file import BatchFile
from llm_fleet.jobs.check_batch_file import check_directive, unknown_setting
from llm_fleet.jobs.setting import Setting, check_value, quoted
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems

_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=\[\]~*-]+")
"""What a value in a line #SBATCH may be without quotes, and so at all: sbatch's quoting differs by version."""


def render_batch_file(
    text: str,
    *,
    settings: Mapping[str, str | int | float | bool] | None = None,
    directives: Mapping[str, str | int | None] | None = None,
    subject: str = "",
) -> str:
    """Return the batch file `text` with other `settings` and `directives` (options of sbatch by their long names).

    A value is text: bash on the node reads it as it stands here, and never runs anything in it. A directive of value
    `None` is an option without one, e.g. `{"exclusive": None}`; one that the file has not yet is added. What is not
    told stays. Raises `FleetError` (LF881 to LF883) with everything that the file does not have or cannot carry.
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
            message="the batch file has no block of settings to write into",
            remedy="render from the batch files of llm-fleet, or mend the lines around its settings",
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
                message="this value cannot stand in a line #SBATCH",
                value=value,
                allowed="letters, digits and _ . / : , @ % + = [ ] ~ * -",
                remedy="give it to sbatch on the command line instead",
                path=(name,),
            )


def _with_settings(file: BatchFile, wanted: Mapping[str, str]) -> list[str]:
    lines = list(file.lines)
    if not wanted:
        return lines
    told = {one.name: quoted(wanted[one.name]) if one.name in wanted else one.text for one in file.settings}
    width = max((len(one.name) + 1 + len(told[one.name]) for one in file.settings if one.comment), default=0)
    for one in file.settings:
        lines[one.line - 1] = _line(one, told[one.name], width)
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
