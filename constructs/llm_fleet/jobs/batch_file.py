"""The batch file of a training run, and its checks."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llm_fleet.catalog.nodes import long_name, remedy_elsewhere, sbatch_options
from llm_fleet.jobs.settings import Setting
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import did_you_mean

RUN = "run.sh"
"""The settings that all stages share."""
SUFFIX = ".sbatch"
ORDER = (
    "download",
    "tokenize",
    "test-nccl",
    "test-nccom",
    "compile",
    "train",
    "train-nemo-megatron",
    "convert",
    "export",
    "tensorboard",
)
"""The stages, in the order in which they run."""


def jobs_folder() -> Path:
    """Return the folder of the batch files: inside the package in a wheel, next to it in a checkout."""
    return default_folder() / "jobs"


@cache
def template(name: str) -> str:
    """Return the text of `run.sh`, or of the batch file of the stage `name`. Raises `FileNotFoundError`."""
    file = name if name == RUN else f"{name}{SUFFIX}"
    return (jobs_folder() / file).read_text(encoding="utf-8")


BEGIN, END = "# Settings", "# End of settings"
"""The lines before and after the settings."""
_DIRECTIVE = "#SBATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """An option in a line `#SBATCH --name=value`."""

    name: str
    """Its long name without dashes, e.g. `nodes`, or its short name with one, e.g. `-N`."""
    value: str | None
    """Its value; `None` for an option without a value."""
    line: int
    """Line number in the file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFile:
    """`run.sh`, or the batch file of a stage, parsed. `check_batch_file` checks it."""

    lines: tuple[str, ...]
    """All lines, without line ends."""
    directives: tuple[Directive, ...]
    """Options that sbatch reads: those in lines before the first command."""
    late_directives: tuple[int, ...]
    """Lines with options that sbatch ignores, because a command is before them."""
    summary: str
    """Its first comment, on one line."""
    begin: int | None
    """Index of the line `# Settings` in `lines`; `None` when there is none, or more than one."""
    end: int | None
    """Index of the line `# End of settings`; `None` when there is none after `begin`, or more than one."""
    settings: tuple[Setting, ...]
    """The settings between the two lines."""
    unknown_lines: tuple[int, ...]
    """Lines between the two that are no setting, no comment and not empty."""

    @classmethod
    def parse(cls, text: str) -> "BatchFile":
        """Parse `text`."""
        lines = tuple(text.split("\n"))
        begin, end = _block(lines)
        inside = range(begin + 1, end) if begin is not None and end is not None else range(0)
        settings = [Setting.parse(lines[index], index + 1) for index in inside]
        command = _first_command(lines)
        marked = [index for index, line in enumerate(lines) if line.startswith(_DIRECTIVE)]
        return cls(
            lines=lines,
            directives=tuple(
                one for index in marked if index < command for one in _directives(lines[index], index + 1)
            ),
            late_directives=tuple(index + 1 for index in marked if index > command),
            summary=_summary(lines),
            begin=begin,
            end=end,
            settings=tuple(one for one in settings if one is not None),
            unknown_lines=tuple(
                index + 1
                for index, one in zip(inside, settings, strict=True)
                if one is None and lines[index].strip() and not lines[index].lstrip().startswith("#")
            ),
        )


def _block(lines: tuple[str, ...]) -> tuple[int | None, int | None]:
    begins = [index for index, line in enumerate(lines) if line.rstrip() == BEGIN]
    ends = [index for index, line in enumerate(lines) if line.rstrip() == END]
    if len(begins) != 1:
        return None, None
    return begins[0], ends[0] if len(ends) == 1 and ends[0] > begins[0] else None


def _first_command(lines: tuple[str, ...]) -> int:
    """Return the index of the first line that is a command: sbatch reads no option after it (sbatch(1))."""
    for index, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            return index
    return len(lines)


def _directives(line: str, number: int) -> list[Directive]:
    words = line[len(_DIRECTIVE) :].split("#", 1)[0].split()
    found: list[Directive] = []
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found.append(Directive(name=name, value=value if equals else None, line=number))
        elif word.startswith("-"):
            found.append(Directive(name=word[:2], value=word[2:] or None, line=number))
        elif found and found[-1].value is None:  # `--nodes 4`
            found[-1] = Directive(name=found[-1].name, value=word, line=number)
    return found


def _summary(lines: tuple[str, ...]) -> str:
    for line in lines:
        if line.startswith("# ") and not line.startswith("# shellcheck") and line.rstrip() != BEGIN:
            return line[2:].partition(". ")[0].rstrip(".") + "."
    return ""


_SAID = re.compile(r"line (?P<line>\d+): (?P<what>.*)")
_LONGEST = 10
"""Seconds; reading a batch file takes bash a few milliseconds."""


def check_bash(text: str) -> list[Problem]:
    """Return bash's syntax errors in `text`; empty where bash is not installed, e.g. on Windows.

    `bash -n` reads the whole script and runs nothing of it. It does not read other files, so a script that is sourced
    on the node is not checked.
    """
    bash = shutil.which("bash")
    if bash is None:
        return []
    done = subprocess.run(  # noqa: S603
        [bash, "--norc", "-n", "/dev/stdin"],
        input=text,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
        env={"LC_ALL": "C"},
    )
    said = [match for line in done.stderr.splitlines() if (match := _SAID.search(line))]
    if done.returncode == 0 and not said:
        return []
    first = said[0] if said else None
    return [
        Problem(
            code=Code.BATCH_FILE,
            message=f"bash cannot read it: {first['what'] if first else done.stderr.strip()}",
            remedy="fix that line, or an earlier line with an open quote or bracket",
            path=(f"line {first['line']}",) if first else (),
        )
    ]


_NODES = re.compile(r"[1-9][0-9]*[kKmM]?([,:-][0-9]+[kKmM]?)*")
"""`sbatch --nodes`: a number, a span as in 2-4, or a list as in 1,3-9:2."""


def check_batch_file(text: str, *, known: Iterable[str] | None = None) -> list[Problem]:
    """Check the text of `run.sh` or of a stage's batch file.

    `known`: names of the settings that it may have; `None` accepts all. The syntax is checked with bash, if it is
    installed; nothing is run.
    """
    if "\r" in text:
        line = text[: text.index("\r")].count("\n") + 1
        return [
            Problem(
                code=Code.BATCH_FILE,
                message="the file has Windows line ends (CR LF), which bash on the nodes does not accept",
                remedy="save it with Unix line ends, e.g. `sed -i 's/\\r$//' FILE`",
                path=(f"line {line}",),
            )
        ]
    file = BatchFile.parse(text)
    return [
        *check_bash(text),
        *_check_block(file),
        *_check_unknown_lines(file),
        *_check_names(file, known),
        *_check_directives(file),
    ]


def check_directive(name: str) -> list[Problem]:
    """Check that sbatch has the option `name` (long, without dashes, or short with one)."""
    option = long_name(name)
    if option in sbatch_options():
        return []
    shown = option if option.startswith("-") else f"--{option}"
    known = sorted(sbatch_options())
    remedy = remedy_elsewhere(option) or did_you_mean(option, known, otherwise="see `man sbatch` for its options")
    return [Problem(code=Code.BATCH_DIRECTIVE, message=f"sbatch has no option {shown}", remedy=remedy, path=(option,))]


def node_count(file: BatchFile) -> int | None:
    """Return the number of nodes that the file requests, the minimum of a range, or `None` if it sets none."""
    for one in file.directives:
        least = (one.value or "").partition("-")[0]
        if long_name(one.name) == "nodes" and least.isdigit():
            return int(least)
    return None


def check_nodes(file: BatchFile, *, partition: str, nodes: int) -> list[Problem]:
    """Check that the file requests no more nodes than its partition has."""
    requested = node_count(file)
    if requested is None or requested <= nodes:
        return []
    return [
        Problem(
            code=Code.BATCH_DIRECTIVE,
            message=f"the job requests more nodes than partition {partition!r} has, so it would never start",
            value=requested,
            allowed=f"at most {nodes}",
            remedy=f"write --nodes={nodes}, or give the partition more nodes",
            path=("nodes",),
        )
    ]


def _check_block(file: BatchFile) -> Iterator[Problem]:
    if file.begin is not None and file.end is not None:
        return
    missing = END if file.begin is not None else BEGIN
    yield Problem(
        code=Code.BATCH_SETTINGS,
        message=f"the file must have exactly one line {missing!r}, to mark its settings",
        remedy=f"write the settings, and nothing else, between the lines {BEGIN!r} and {END!r}",
    )


def _check_unknown_lines(file: BatchFile) -> Iterator[Problem]:
    for line in file.unknown_lines:
        yield Problem(
            code=Code.BATCH_SETTINGS,
            message="this line is not a setting of the form NAME=value  # description",
            value=file.lines[line - 1].strip(),
            remedy=f"quote a value with spaces or special characters; move lines that are not settings below {END!r}",
            path=(f"line {line}",),
        )


def _check_names(file: BatchFile, known: Iterable[str] | None) -> Iterator[Problem]:
    seen: set[str] = set()
    for one in file.settings:
        if one.name in seen:
            yield Problem(
                code=Code.BATCH_SETTING,
                message="this setting is set twice: the job would use the last value",
                remedy="keep one of them",
                path=(f"line {one.line}", one.name),
            )
        seen.add(one.name)
        if known is not None and one.name not in known:
            yield unknown_setting(one.name, known, line=one.line)
    if file.settings:
        yield from map(_missing, sorted(set(known or ()) - seen))


def _check_directives(file: BatchFile) -> Iterator[Problem]:
    for one in file.directives:
        yield from (problem.under(f"line {one.line}") for problem in check_directive(one.name))
        if long_name(one.name) == "nodes" and not _NODES.fullmatch(one.value or ""):
            yield Problem(
                code=Code.BATCH_DIRECTIVE,
                message="this is not a number of nodes: sbatch would reject the file",
                remedy="write e.g. --nodes=4",
                path=(f"line {one.line}", "nodes"),
                value=one.value,
                allowed="a number, or a range as in 2-4",
            )
    for line in file.late_directives:
        yield Problem(
            code=Code.BATCH_DIRECTIVE,
            message="sbatch ignores this line, because a command is above it",
            value=file.lines[line - 1],
            remedy="move it up to the other #SBATCH lines",
            path=(f"line {line}",),
        )


def _missing(name: str) -> Problem:
    return Problem(
        code=Code.BATCH_SETTING,
        message="this setting is missing: the job would fail immediately",
        remedy=f"add it, e.g. '{name}=' for an empty value",
        path=(name,),
    )


def unknown_setting(name: str, known: Iterable[str], *, line: int | None = None) -> Problem:
    """Return the problem that `name` is not a setting."""
    names = sorted(known)
    return Problem(
        code=Code.BATCH_SETTING,
        message="unknown setting: the batch file does not have it",
        value=name,
        remedy=did_you_mean(name, names, otherwise=f"write one of {', '.join(names)}" if names else "remove it"),
        path=() if line is None else (f"line {line}",),
    )
