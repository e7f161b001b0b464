"""Says where a text stops being YAML."""

import yaml

from llm_fleet.fleet_file.located import locate
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem


def syntax_error(error: yaml.YAMLError, text: str, *, subject: str) -> FleetError:
    """Return the error for `text`, with the line, the column and the line itself."""
    line, column = _place(error, text)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    lines = text.splitlines()
    shown = lines[line] if line < len(lines) else ""
    problem = Problem(
        code=Code.FILE_NOT_YAML,
        message=f"this is no YAML: {what}, in line {line + 1}, column {column + 1}",
        remedy=_remedy(shown),
        value=shown or None,
    )
    return FleetError([locate(problem, line + 1, column + 1)], subject=subject)


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """Return line and column, both from 0."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return mark.line, mark.column
    before = text[: getattr(error, "position", 0)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _remedy(line: str) -> str:
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        return "indent with spaces: YAML takes no tabs"
    return "look at the colons, quotes, brackets and the indentation of this line and the one before"
