"""Writes a new project: the choices of the user, filled into the templates of `project/`."""

import argparse
import json
import re
import shlex
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NoReturn

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.network import regions
from llm_fleet.cli.new.kinds import DEFAULT_KIND, KINDS
from llm_fleet.cli.verb import refuse
from llm_fleet.cli.write_files import reason_of, write_folder
from llm_fleet.fleet_file.check_fleet import fleet_name_of
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.schema import schema_text
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError, PathPart, Problem, raise_problems

_REGION = "us-west-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choices:
    """What the user chose, by options or answers."""

    kind: str
    region: str
    instance_type: str
    count: int
    name: str

    @property
    def options(self) -> Mapping[tuple[PathPart, ...], str]:
        """The option of each value, by its path in fleet.yaml."""
        kind = KINDS[self.kind]
        return {
            ("fleet",): "--name",
            ("region",): "--region",
            (*kind.nodes, "server", "kind"): "--region",
            (*kind.nodes, kind.type_key): "--instance-type",
            (*kind.nodes, kind.count_key): "--count",
        }


def write_project(arguments: argparse.Namespace) -> int:
    """Write the project. Raises `FleetError` if the directory cannot be used (LF160, LF161, LF1230), or with the
    problems of the options."""
    folder = _free_folder(arguments.directory)
    choices = _choices(arguments, folder)
    project = _project(choices)
    write_folder(folder, project, force=False)
    print(f"created {folder} ({len(project)} files). Next:\n")
    # An empty working directory was replaced: the shell must enter the new one, by its full path.
    print(f"  cd {shlex.quote(str(arguments.directory if arguments.directory.name else folder))}")
    print("  llm-fleet validate")
    print("  llm-fleet local deploy    # to an AWS emulator on this machine, without an AWS account\n")
    print("README.md has all steps.")
    return 0


_SHOWN = 8
"""Entries of a directory that an error lists."""


def _free_folder(directory: Path) -> Path:
    """Return the absolute path of `directory`. Raises `FleetError` (LF161, LF1230) if anything is in it."""
    try:
        folder = directory.resolve()
        is_file = folder.exists() and not folder.is_dir()
        found = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    except (OSError, RuntimeError) as error:  # RuntimeError: circular links
        why = reason_of(error) if isinstance(error, OSError) else "circular links"
        message = f"cannot read the directory: {why}"
        refuse(Code.OUTPUT_UNWRITABLE, message, "choose another directory", subject=str(directory))
    if is_file:
        _refuse_directory(folder, "a file with this name exists", None)
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        _refuse_directory(folder, "the directory is not empty", ", ".join(found[:_SHOWN]) + more)
    return folder


def _refuse_directory(folder: Path, message: str, value: str | None) -> NoReturn:
    remedy = "choose a directory that does not exist, or move these files away"
    refuse(CommandCode.NEW_IN_THE_WAY, message, remedy, subject=str(folder), value=value)


_QUESTIONS: Mapping[str, str] = {
    "region": "AWS Region",
    "instance_type": "instance type of the nodes",
    "count": "number of nodes",
    "name": "name of the fleet",
}


def _choices(arguments: argparse.Namespace, folder: Path) -> _Choices:
    """Return the options, and answers for the others: on a terminal of the user, else the defaults.

    Raises `FleetError` with the problems of the options, before the next question.
    """
    asks = not arguments.yes and sys.stdin.isatty() and sys.stdout.isatty()
    kind = arguments.kind or (_kind() if asks else DEFAULT_KIND)
    defaults: dict[str, Any] = {
        "region": _REGION,
        "instance_type": KINDS[kind].instance_type,
        "count": KINDS[kind].count,
        "name": _name_of(folder),
    }
    given = {option: getattr(arguments, option) for option in defaults if getattr(arguments, option) is not None}
    choices = _Choices(kind=kind, **{**defaults, **given})
    if asks:
        raise_problems(_problems(choices, given), subject="the options")
        settled = list(given)
        for option in defaults:
            if option not in given:
                settled.append(option)
                choices = _answered(choices, option, settled)
    raise_problems(_problems(choices), subject="the options")
    return choices


def _kind() -> str:
    question = f"kind: {', '.join(KINDS)}"
    while (kind := _answer(question, DEFAULT_KIND)) not in KINDS:
        question = f"unknown kind; write one of {', '.join(KINDS)}"
    return kind


def _answered(choices: _Choices, option: str, settled: list[str]) -> _Choices:
    """Return `choices` with the answer for `option`. Asks again until none of the `settled` options has a problem."""
    while True:
        answer = _answer(_QUESTIONS[option], getattr(choices, option))
        if option != "count":
            chosen = replace(choices, **{option: answer})
        elif re.fullmatch(r"-?[0-9]{1,18}", answer):
            chosen = replace(choices, count=int(answer))
        else:
            print("  write a whole number, e.g. 2")
            continue
        problems = _problems(chosen, settled)
        if not problems:
            return chosen
        for problem in problems:
            print(problem)


def _answer(question: str, default: object) -> str:
    try:
        return input(f"{question} [{default}]: ").strip() or str(default)
    except EOFError:  # Ctrl-D
        raise KeyboardInterrupt from None


def _name_of(folder: Path) -> str:
    """Return the name of `folder` as a fleet's name, e.g. `grosse-flotte` for `Große Flotte`."""
    plain = unicodedata.normalize("NFKD", folder.name.casefold()).encode("ascii", "ignore").decode()
    return fleet_name_of(plain) or "fleet"


def _problems(choices: _Choices, options: Iterable[str] | None = None) -> list[Problem]:
    """Return the problems of the fleet file, those of a choice with its option; of `options` only, if they are set."""
    try:
        parse_fleet(_filled(_TEMPLATES["fleet.yaml"], choices))
    except FleetError as error:
        found = [_by_option(each, choices) for each in error.problems]
        paths = None if options is None else {(_option(each),) for each in options}
        return [each for each in found if paths is None or each.path in paths]
    return []


def _option(attribute: str) -> str:
    return "--" + attribute.replace("_", "-")


def _by_option(problem: Problem, choices: _Choices) -> Problem:
    plain = Problem(**{field.name: getattr(problem, field.name) for field in fields(Problem)})  # without its line
    if plain.code is Code.SERVER_REGION:  # The project's model server has no option: only another Region helps.
        plain = replace(plain, value=choices.region, remedy="write one of the allowed Regions")
    option = choices.options.get(problem.path)
    return plain if option is None else replace(plain, path=(option,))


class _FileTemplate(Template):
    """A template with `%name`: workflows, schema comments and shell commands contain `$`."""

    delimiter = "%"


_TEMPLATES: Mapping[str, str] = {
    "README.md": "every/README.md",
    "fleet.yaml": "{kind}/fleet.yaml",
    "app.py": "every/app.py",
    "pyproject.toml": "every/pyproject.toml.in",
    "wheels/README.md": "every/wheels.md",
    ".gitignore": "every/gitignore",
    "tests/conftest.py": "every/conftest.py",
    "tests/test_fleet.py": "{kind}/test_fleet.py",
    "tests/test_cdk_nag.py": "every/test_cdk_nag.py",
    ".github/workflows/pull-request.yml": "every/pull-request.yml",
    ".github/workflows/deploy.yml": "every/deploy.yml",
}
"""Templates in `project/`, by the name of the file in the project."""


def _project(choices: _Choices) -> dict[str, str]:
    """Return all files of the project, text by name."""
    # Imported by name: the command must not depend on the packages that synthesize and emulate.
    synth, lock = import_module("llm_fleet_stacks.synth"), import_module("llm_fleet_local.command.cdk_lock")
    app = {"app": "python3 -O app.py", "context": synth.recommended_context()}
    return {
        **{name: _filled(template, choices) for name, template in _TEMPLATES.items()},
        ".llm-fleet.schema.json": schema_text(),
        "cdk.json": json.dumps(app, indent=2) + "\n",
        **{name: (lock.lock_folder() / name).read_text(encoding="utf-8") for name in lock.LOCK_FILES},
    }


def _filled(template: str, choices: _Choices) -> str:
    values = _values(choices)
    if template.endswith("fleet.yaml"):
        values = {name: _yaml(value) for name, value in values.items()}
    path = template.format(kind=choices.kind).split("/")
    text = files("llm_fleet.cli.new").joinpath("project", *path).read_text(encoding="utf-8")
    return _FileTemplate(text).substitute(values)


def _values(choices: _Choices) -> Mapping[str, str]:
    """Return what replaces `%name` and the others in templates."""
    installed = version("llm-fleet")
    major, minor = installed.split(".")[:2]
    known = regions().get(choices.region) or regions()[_REGION]
    return {
        "name": choices.name,
        "region": choices.region,
        "prefix": known.az_id_prefix,
        "type": choices.instance_type,
        "count": str(choices.count),
        "head": _head_type(choices.instance_type),
        "version": installed,
        "next_version": f"{major}.{int(minor) + 1}",
    }


def _head_type(instance_type: str) -> str:
    """Return a head node's type of the same architecture as the nodes, which run its Slurm. It has 32 GiB of memory."""
    facts = ec2_facts_of(instance_type)
    return "m7g.2xlarge" if facts is not None and facts.architecture == "arm64" else "m5.2xlarge"


_PLAIN = re.compile(r"-?[0-9]+|[a-z][a-z0-9]*([-.][a-z0-9]+)*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def _yaml(text: str) -> str:
    """Return `text` as one YAML value, quoted where YAML would read something else."""
    return text if _PLAIN.fullmatch(text) and text not in _RESERVED else json.dumps(text)
