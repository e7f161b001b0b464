"""Writes a new project: the choices of the user, filled into the templates of `project/`."""

import argparse
import json
import re
import shlex
import sys
import unicodedata
from collections.abc import Mapping
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
from llm_fleet.rules.problem import FleetError, PathPart, Problem

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
            (*kind.nodes, kind.type_key): "--instance-type",
            (*kind.nodes, kind.count_key): "--count",
        }


def write_project(arguments: argparse.Namespace) -> int:
    """Write the project. Raises `FleetError` if the directory cannot be used (LF160, LF161, LF1230), or with the
    problems of the options."""
    folder = _free_folder(arguments.directory)
    choices = _choices(arguments, folder)
    project = _project(choices)
    _validate(project["fleet.yaml"], choices)
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


def _choices(arguments: argparse.Namespace, folder: Path) -> _Choices:
    """Return the options, and answers for the others: on a terminal of the user, else the defaults."""
    asks = not arguments.yes and sys.stdin.isatty() and sys.stdout.isatty()

    def choice(option: str, question: str, default: Any) -> Any:
        given = getattr(arguments, option)
        if given is not None:
            return given
        return _answer(question, default) if asks else default

    kind = choice("kind", f"kind: {', '.join(KINDS)}", DEFAULT_KIND)
    while kind not in KINDS:
        kind = _answer(f"unknown kind; write one of {', '.join(KINDS)}", DEFAULT_KIND)
    region = choice("region", "AWS Region", _REGION)
    instance_type = choice("instance_type", "instance type of the nodes", KINDS[kind].instance_type)
    count = choice("count", "number of nodes", KINDS[kind].count)
    while not re.fullmatch(r"-?[0-9]+", str(count)):
        count = _answer("write a whole number of nodes", KINDS[kind].count)
    name = choice("name", "name of the fleet", _name_of(folder))
    return _Choices(kind=kind, region=region, instance_type=instance_type, count=int(count), name=name)


def _answer(question: str, default: object) -> str:
    try:
        return input(f"{question} [{default}]: ").strip() or str(default)
    except EOFError:  # Ctrl-D
        raise KeyboardInterrupt from None


def _name_of(folder: Path) -> str:
    """Return the name of `folder` as a fleet's name, e.g. `grosse-flotte` for `Große Flotte`."""
    plain = unicodedata.normalize("NFKD", folder.name.casefold()).encode("ascii", "ignore").decode()
    return fleet_name_of(plain) or "fleet"


def _validate(fleet_file: str, choices: _Choices) -> None:
    """Raise `FleetError` with the errors of `fleet_file`; those of a choice name its option."""
    try:
        parse_fleet(fleet_file)
    except FleetError as error:
        raise FleetError([_by_option(each, choices) for each in error.problems], subject="the options") from None


def _by_option(problem: Problem, choices: _Choices) -> Problem:
    plain = Problem(**{field.name: getattr(problem, field.name) for field in fields(Problem)})  # without its line
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
    source = files("llm_fleet.cli.new").joinpath("project")
    values = _values(choices)
    in_yaml = {name: _yaml(value) for name, value in values.items()}

    def filled(template: str) -> str:
        text = source.joinpath(*template.format(kind=choices.kind).split("/")).read_text(encoding="utf-8")
        return _FileTemplate(text).substitute(in_yaml if template.endswith("fleet.yaml") else values)

    # Imported by name: the command must not depend on the packages that synthesize and emulate.
    synth, lock = import_module("llm_fleet_stacks.synth"), import_module("llm_fleet_local.command.cdk_lock")
    app = {"app": "python3 -O app.py", "context": synth.recommended_context()}
    return {
        **{name: filled(template) for name, template in _TEMPLATES.items()},
        ".llm-fleet.schema.json": schema_text(),
        "cdk.json": json.dumps(app, indent=2) + "\n",
        **{name: (lock.lock_folder() / name).read_text(encoding="utf-8") for name in lock.LOCK_FILES},
    }


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
