"""Finds the rules of emulator, drill and local serving, and the source that each names.

In emulator and serving a rule refuses something; in the drill it can also act on a node instead of HyperPod or
ParallelCluster.
"""

import ast
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import botocore
import cfnlint
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from tools.assumption_citations import texts

SOURCE = re.compile(r"\bSource: (.+?)(?=\s*\bSource: |\n\s*\n|\"\"\"|\Z)", re.DOTALL)
"""A line of a docstring or comment: `Source: <kind> …`."""
_FORMS = {
    "model": re.compile(r"model (botocore|CloudFormation|cfn-lint) (\S+)(?: (\w+))?\b"),
    "document": re.compile(
        r"document (?:https?://\S+: \S.{9,}|(?=[^(]*/)[^(]+ \((?:20\d\d(?:-\d\d){0,2}|\w+ [\d.]+)\))", re.DOTALL
    ),
    "code": re.compile(r"code \S.{9,}", re.DOTALL),
    "recorded": re.compile(r"recorded \S.{9,}", re.DOTALL),
    "assumption": re.compile(r"assumption [a-z0-9]+(-[a-z0-9]+)+"),
    "emulation": re.compile(r"emulation, \S.{9,}", re.DOTALL),
}
"""Permitted forms. A document has its date, its version or its words; `code` of AWS or a vendor its version;
`recorded localstack/localstack <file> <test> (<date>)` is an answer of AWS that this project recorded below
tests/aws/services/cloudformation/<file>.snapshot.json; `emulation` is a limit of the emulator's own, which AWS does not
have."""
_EVERY_MODULE = (
    "local/llm_fleet_local/aws/functions/",
    "local/llm_fleet_local/aws/resources/custom/",
    "local/llm_fleet_local/aws/resources/hooks/",
    "local/llm_fleet_local/aws/resources/moto_fixes/",
    "local/llm_fleet_local/aws/stacks/",
    "local/llm_fleet_local/aws/template/",
    "local/llm_fleet_local/serving/proxy/",
)
"""Each module of these folders emulates something."""
_WHOLE_FILES = re.compile(
    r"local/llm_fleet_local/drill/(stand_ins/programs/.*|platforms/.*\.sh|image/recipe/.*\.(c|sh))"
)
_DRILL_ITSELF = re.compile(
    r"local/llm_fleet_local/drill/((network|nodes|report|scenarios|training)/.*|image/(?!image\.py).*"
    r"|(__main__|fingerprint|fleet|journal|keeper|live|mirror|relay|run|services|session|show|slurm|socket_name|starts|talk"
    r"|until|variant|work_folder|parallelcluster/show|stand_ins/stand_in)\.py)"
)
"""Modules that create, query and show the drill's nodes; all other modules of the drill emulate a platform."""
_ON_NODES = re.compile(
    r"put|.*(node|platform|controller).*\.(start|write|reboot|replace|power_off|prepare|stage|configure|finalize"
    r"|start_\w+|update_\w+)"
)
"""Calls that act on a node instead of a platform."""
_HELPERS = (
    "local/llm_fleet_local/drill/image/recipe/base.sh",
    "local/llm_fleet_local/drill/image/recipe/last.sh",
    "local/llm_fleet_local/drill/platforms/node_files.py",
    "local/llm_fleet_local/aws/stacks/definition.py",
    "local/llm_fleet_local/aws/template/finding.py",
    "local/llm_fleet_local/aws/template/lookups.py",
)
"""Modules with values and without rules; the source of `base.sh` is in local/llm_fleet_local/drill/image/image.py."""
_NO_RULES = frozenset(
    {"ValueError", "KeyError", "LookupError", "RuntimeError", "SystemExit", "NotImplementedError", "TypeError"}
    | {"AssertionError", "TableError", "ReplacementNeeded", "NotServable", "BatchEnded", "DeploymentFailed"}
    | {"argparse", "WrongBundle", "NotDeployed", "NotInTime", "MissingPrerequisite", "ImageError", "LocalError"}
)
"""Exceptions for errors of a caller, of a table or of the machine, and for control flow: not rules of a service."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A place that applies a rule."""

    place: str
    """`<path>:<line> <name>`."""
    said: str
    """What is said about its source: its own docstring and comments, and the docstring of its class. The docstring of
    the module belongs to it as well where it is the only one there that refuses something."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Return what follows each `Source:`."""
        return tuple(" ".join(one.split()) for one in SOURCE.findall(_uncommented(self.said)))


def rules() -> Iterator[Rule]:
    """Yield every place that applies a rule."""
    for path, text in texts().items():
        if path.startswith(("local/llm_fleet_local/aws/", "local/llm_fleet_local/serving/")) and path.endswith(".py"):
            yield from rules_of_module(path, text)
        elif path.startswith("local/llm_fleet_local/aws/resources/types/") and path.endswith(".yaml"):
            yield from _tables(path, text)
        elif (
            path.startswith("local/llm_fleet_local/drill/")
            and path.endswith(".py")
            and not _DRILL_ITSELF.fullmatch(path)
        ):
            yield from rules_of_module(path, text)
        elif _WHOLE_FILES.fullmatch(path) and path not in _HELPERS:
            yield Rule(f"{path}:1", _comments(text))


@cache
def wrong_with(source: str) -> str:
    """Return what is wrong with a source; empty when nothing is. Assumptions have their own test."""
    form = _FORMS.get(source.partition(" ")[0].rstrip(","))
    found = form.match(source) if form else None
    if found is None:
        return f"{source!r} is none of {', '.join(_FORMS)} in its form"
    if source.startswith("model ") and not _is_in_model(*found.groups()):
        return f"{source!r} is in no such model"
    return ""


def rules_of_module(path: str, text: str) -> Iterator[Rule]:
    """Yield what a module refuses, and what it does on nodes in the place of a platform."""
    tree = ast.parse(text)
    is_drill = path.startswith("local/llm_fleet_local/drill/")
    if (
        path.startswith((*_EVERY_MODULE, "local/llm_fleet_local/drill/"))
        and path not in _HELPERS
        and not path.endswith("__init__.py")
    ):
        yield Rule(f"{path}:1", text)
    lines = text.splitlines()
    refusing = [
        (holder, one)
        for holder in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef))]
        for one in holder.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and (_refuses(one) or (is_drill and _acts(one)))
    ]
    alone = len(refusing) == 1
    for holder, one in refusing:
        around = {holder, tree} if alone else {holder} - {tree}
        own = "\n".join(lines[one.lineno - 1 : one.end_lineno])
        said = [*(ast.get_docstring(each) or "" for each in around), own]
        yield Rule(f"{path}:{one.lineno} {one.name}", "\n\n".join(said))


def _refuses(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(one, ast.Raise) and one.exc is not None and not _raised(one.exc) & _NO_RULES
        for one in ast.walk(function)
    )


def _acts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call))
    return any(_ON_NODES.fullmatch(ast.unparse(one.func)) for one in calls)


def _raised(exception: ast.expr) -> set[str]:
    """Return the names that an expression after `raise` has; a variable is what was caught or made before."""
    return {one.id for one in ast.walk(exception) if isinstance(one, ast.Name)}


def _tables(path: str, text: str) -> Iterator[Rule]:
    """Yield what a table refuses in words of its own, and what it has replaced although the schema does not say so."""
    for found in re.finditer(r"((?:^ +#.*\n)*)^( +)(needs|steady|replace):(.*\n(?:\2 .*\n|\n)*)", text, re.MULTILINE):
        above, _, what, below = found.groups()
        if what == "replace" or "else:" in below:
            line = text.count("\n", 0, found.start(3)) + 1
            yield Rule(f"{path}:{line} {what}", above + _comments(below))


def _comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if re.match(r"\s*(#|//)", line))


def _uncommented(text: str) -> str:
    """Return the text without the marks of comments, and with an empty line where a comment ends."""
    ended = re.sub(r"^([ \t]*(?:#|//).*)\n(?![ \t]*(?:#|//))", r"\1\n\n", text, flags=re.MULTILINE)
    return re.sub(r"^[ \t]*(#|//)[ \t]?", "", ended, flags=re.MULTILINE)


def _is_in_model(kind: str, name: str, member: str | None) -> bool:
    if kind == "botocore":
        return member is not None and f'"{member}":' in _service_model(name)
    data = Path(cfnlint.__file__).parent / "data"
    if kind == "cfn-lint":
        return (data / name).exists()
    return name in PROVIDER_SCHEMA_MANAGER.get_resource_types("us-east-1")


@cache
def _service_model(service: str) -> str:
    """Return the text of botocore's newest model of a service; empty when there is none."""
    found = sorted((Path(botocore.__file__).parent / "data" / service).glob("*/service-2.json.gz"))
    return gzip.decompress(found[-1].read_bytes()).decode() if found else ""
