"""A batch file, and the templates of them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llm_fleet.jobs.settings import Setting
from llm_fleet.lifecycle.script_folder import default_folder

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
"""The stages, in the order in which they are run."""


def jobs_folder() -> Path:
    """Return the folder of the batch files: in the package of a wheel, beside it in a checkout."""
    return default_folder() / "jobs"


@cache
def template(name: str) -> str:
    """Return the text of `run.sh`, or of the batch file of the stage `name`. Raises `FileNotFoundError`."""
    file = name if name == RUN else f"{name}{SUFFIX}"
    return (jobs_folder() / file).read_text(encoding="utf-8")


BEGIN, END = "# Settings", "# End of settings"
"""The lines that the settings stand between."""
_DIRECTIVE = "#SBATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """An option in a line `#SBATCH --name=value`."""

    name: str
    """Its long name without dashes, e.g. `nodes`; as it stands when it is a short one, e.g. `-N`."""
    value: str | None
    """Its value; `None` for an option without."""
    line: int
    """Which line of the file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFile:
    """`run.sh`, or the batch file of a stage. Taken apart without judgement: `check_batch_file` judges."""

    lines: tuple[str, ...]
    """All lines, without their ends."""
    directives: tuple[Directive, ...]
    """What sbatch reads: options in lines before the first command."""
    late_directives: tuple[int, ...]
    """Lines with options that sbatch passes over, since a command stands before them."""
    summary: str
    """Its first comment, in one line."""
    begin: int | None
    """Index of the line `# Settings` in `lines`; `None` when there is none, or more than one."""
    end: int | None
    """Index of the line `# End of settings`; `None` when there is none after `begin`, or more than one."""
    settings: tuple[Setting, ...]
    """What stands between the two."""
    strangers: tuple[int, ...]
    """Lines between the two that are no setting, no comment and not empty."""

    @classmethod
    def parse(cls, text: str) -> "BatchFile":
        """Take `text` apart."""
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
            strangers=tuple(
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
