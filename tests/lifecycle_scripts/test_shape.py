"""The scripts in the repository: effects of image and S3 on them, and the oldest supported Python."""

import ast
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet.lifecycle.script_folder import default_folder, read_scripts
from llm_fleet.rules.bundle import scripts
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import Node

FOLDER = default_folder()
MODULES = sorted((FOLDER / "llm_fleet_node").rglob("*.py"))
SHELL = sorted(FOLDER.glob("*.sh"))
OLDEST = (3, 9)


def _name_of(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


# Features newer than 3.9 that a syntax check does not detect: names of modules, of functions with the new
# argument, and of attributes.
NEWER_MODULES = {"tomllib"}
NEWER_ARGUMENTS = {"zip": {"strict"}, "dataclass": {"slots", "kw_only"}, "field": {"kw_only"}}
NEWER_NAMES = {
    "TypeAlias",
    "ParamSpec",
    "Self",
    "StrEnum",
    "pairwise",
    "UTC",
    "ExceptionGroup",
    "override",
    "assert_never",
}


def test_the_shipped_scripts_pass_our_own_rules() -> None:
    assert scripts(read_scripts(FOLDER), entry_points={"on_init_complete.sh", "on_create.sh"}) == []


@pytest.mark.parametrize("path", MODULES, ids=_name_of)
def test_the_syntax_is_that_of_the_oldest_python(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST)


@pytest.mark.parametrize("path", MODULES, ids=_name_of)
def test_nothing_newer_than_the_oldest_python_is_used(path: Path) -> None:
    assert _newer(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "zip(a, b, strict=True)",
        "import tomllib",
        "from itertools import pairwise",
        "from __future__ import annotations\nKind = int | None",
        "isinstance(a, int | str)",
        "def f(a: int | None): ...",
        "datetime.UTC",
    ],
)
def test_the_check_for_newer_features_detects_them(code: str) -> None:
    assert _newer(code)


def test_only_the_standard_library_is_imported() -> None:
    for path in MODULES:
        for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            assert name in sys.stdlib_module_names or name == "llm_fleet_node", f"{path.name} imports {name}"


def test_the_scripts_never_sleep_for_a_fixed_time() -> None:
    for path in (*MODULES, *SHELL):
        if path.name != "waiting.py":
            assert not re.search(r"\bsleep\b", path.read_text(encoding="utf-8")), path


def test_waiting_always_has_a_deadline() -> None:
    text = (FOLDER / "llm_fleet_node" / "waiting.py").read_text(encoding="utf-8")
    assert re.findall(r"sleep\((.*)\)", text) == ["min(interval, left)", "min(seconds, _LONGEST_PAUSE)"]


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_shell_scripts_can_be_run_and_stop_at_errors(path: Path) -> None:
    assert path.stat().st_mode & stat.S_IXUSR
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines


@pytest.mark.parametrize("tool", [["shellcheck"], ["shfmt", "-d", "-i", "2", "-ci"]], ids=["shellcheck", "shfmt"])
def test_shellcheck_accepts_the_shell_scripts(tool: list[str]) -> None:
    program = Path(sys.executable).parent / tool[0]
    ended = subprocess.run([program, *tool[1:], *SHELL], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("minor", range(9, 14))
def test_the_package_runs_on_every_installed_python(worker: Node, minor: int) -> None:
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no Python 3.{minor} on this machine")
    broken = step("broken", apply="fail(Code.COMMAND, 'no')", more="'retries': 1")
    worker.publish(step_files={"good": step("good"), "broken": broken, "after": step("after", needs=("broken",))})
    ended = worker.run(LLM_FLEET_PYTHON=python)
    assert (ended.code, ended.report["code"]) == (1, "LFN31"), ended.err
    assert ended.report["python"].startswith(f"3.{minor}.")
    states = {reported["name"]: reported["state"] for reported in ended.report["steps"]}
    assert states == {"good": "done", "broken": "failed", "after": "not_reached"}


@pytest.mark.parametrize("minor", range(9, 14))
def test_every_module_can_be_imported_by_every_installed_python(minor: int) -> None:
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no Python 3.{minor} on this machine")
    names = [_name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in MODULES]
    code = f"import importlib, sys; sys.path.insert(0, {str(FOLDER)!r})\n"
    code += f"for name in {names}: importlib.import_module(name)"
    ended = subprocess.run([python, "-I", "-S", "-B", "-c", code])
    assert ended.returncode == 0


def _newer(code: str) -> list[str]:
    tree = ast.parse(code)
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    if lazy:
        tree = _WithoutAnnotations().visit(tree)
    found = [name for name in _imports(tree) if name in NEWER_MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            found += [f"{name}({key.arg}=)" for key in node.keywords if key.arg in NEWER_ARGUMENTS.get(name, set())]
        elif isinstance(node, ast.ImportFrom):
            found += [alias.name for alias in node.names if alias.name in NEWER_NAMES]
        elif isinstance(node, ast.Attribute) and node.attr in NEWER_NAMES:
            found.append(node.attr)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_type(node):
            found.append("union of types")
    return found


def _is_type(node: ast.BinOp) -> bool:
    """Return whether `|` is between types, and not between sets or numbers."""
    names = {"int", "str", "bytes", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "Path"}
    sides = (node.left, node.right)
    return any((isinstance(side, ast.Constant) and side.value is None) or _name(side) in names for side in sides)


def _name(node: ast.expr) -> str:
    value = node.value if isinstance(node, ast.Subscript) else node
    return value.id if isinstance(value, ast.Name) else ""


def _imports(tree: ast.AST) -> list[str]:
    """Return the top modules that are imported, `__future__` included."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module.split(".")[0])
    return found


class _WithoutAnnotations(ast.NodeTransformer):
    """Removes the annotations, which `from __future__ import annotations` does not evaluate."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return ast.copy_location(ast.Expr(node.value), node) if node.value else None
