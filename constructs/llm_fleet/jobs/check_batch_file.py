"""Checks a batch file: its options, its settings, its syntax."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator

from llm_fleet.catalog.slurm import long_name, remedy_elsewhere, sbatch_options
from llm_fleet.jobs.batch_file import BEGIN, END, BatchFile
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import did_you_mean

_SAID = re.compile(r"line (?P<line>\d+): (?P<what>.*)")
_LONGEST = 10
"""Seconds; reading a batch file takes bash a few milliseconds."""


def check_bash(text: str) -> list[Problem]:
    """Return what bash cannot read in `text`; nothing where no bash is installed, e.g. on Windows.

    `bash -n` reads the whole script and runs nothing of it. It knows no file, so a script that is fetched by name on
    the node is not looked at.
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
            remedy="mend that line, or one before it where a quote or bracket is left open",
            path=(f"line {first['line']}",) if first else (),
        )
    ]


_NODES = re.compile(r"[1-9][0-9]*[kKmM]?([,:-][0-9]+[kKmM]?)*")
"""`sbatch --nodes`: a number, a span as in 2-4, or a list as in 1,3-9:2."""


def check_batch_file(text: str, *, known: Iterable[str] | None = None) -> list[Problem]:
    """Check the text of `run.sh` or of a stage's batch file.

    `known`: names of the settings that it may have; `None` leaves them alone. bash is asked whether it can read it,
    where there is a bash; nothing of it is run.
    """
    if "\r" in text:
        line = text[: text.index("\r")].count("\n") + 1
        return [
            Problem(
                code=Code.BATCH_FILE,
                message="its lines end as on Windows (CR LF), which bash on the nodes does not take",
                remedy="save it with line ends of Unix, e.g. `sed -i 's/\\r$//' FILE`",
                path=(f"line {line}",),
            )
        ]
    file = BatchFile.parse(text)
    return [
        *check_bash(text),
        *_check_block(file),
        *_check_strangers(file),
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
    remedy = remedy_elsewhere(option) or did_you_mean(option, known, otherwise="see `man sbatch` for what it has")
    return [Problem(code=Code.BATCH_DIRECTIVE, message=f"sbatch has no option {shown}", remedy=remedy, path=(option,))]


def node_count(file: BatchFile) -> int | None:
    """Return the nodes that the file asks for, the least of them, or `None` when it does not say."""
    for one in file.directives:
        least = (one.value or "").partition("-")[0]
        if long_name(one.name) == "nodes" and least.isdigit():
            return int(least)
    return None


def check_nodes(file: BatchFile, *, partition: str, nodes: int) -> list[Problem]:
    """Check that the file asks for no more nodes than its partition has."""
    asked = node_count(file)
    if asked is None or asked <= nodes:
        return []
    return [
        Problem(
            code=Code.BATCH_DIRECTIVE,
            message=f"more nodes than partition {partition!r} has: the job would wait for ever",
            value=asked,
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
        message=f"there is not exactly one line {missing!r}, so it cannot be told what its settings are",
        remedy=f"have the settings, and nothing else, between the lines {BEGIN!r} and {END!r}",
    )


def _check_strangers(file: BatchFile) -> Iterator[Problem]:
    for line in file.strangers:
        yield Problem(
            code=Code.BATCH_SETTINGS,
            message="this is no setting of the form NAME=value  # what it is",
            value=file.lines[line - 1].strip(),
            remedy=f"quote a value that holds spaces or signs; what is no setting belongs below {END!r}",
            path=(f"line {line}",),
        )


def _check_names(file: BatchFile, known: Iterable[str] | None) -> Iterator[Problem]:
    seen: set[str] = set()
    for one in file.settings:
        if one.name in seen:
            yield Problem(
                code=Code.BATCH_SETTING,
                message="this setting is there twice: the job would go by the last one",
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
                message="this is no number of nodes: sbatch would refuse the file",
                remedy="write e.g. --nodes=4",
                path=(f"line {one.line}", "nodes"),
                value=one.value,
                allowed="a number, or several as in 2-4",
            )
    for line in file.late_directives:
        yield Problem(
            code=Code.BATCH_DIRECTIVE,
            message="sbatch passes over this line, since a command stands above it",
            value=file.lines[line - 1],
            remedy="move it up to the other #SBATCH lines",
            path=(f"line {line}",),
        )


def _missing(name: str) -> Problem:
    return Problem(
        code=Code.BATCH_SETTING,
        message="this setting is missing: the job would end at once",
        remedy=f"write it again, e.g. '{name}=' for nothing",
        path=(name,),
    )


def unknown_setting(name: str, known: Iterable[str], *, line: int | None = None) -> Problem:
    """Return the problem that no setting is called `name`."""
    names = sorted(known)
    return Problem(
        code=Code.BATCH_SETTING,
        message="the batch file has no setting of this name",
        value=name,
        remedy=did_you_mean(name, names, otherwise=f"write one of {', '.join(names)}" if names else "leave it out"),
        path=() if line is None else (f"line {line}",),
    )
