"""Checks for every step, built-in or custom: declaration, size, imports, and the graph of all steps."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet_node import graph
from llm_fleet_node.failures import Failure
from llm_fleet_node.package_managers.manager import INSTALL_SECONDS, LOCK_SECONDS
from llm_fleet_node.step import COMPUTE, EVERY_HOOK, EVERY_ROLE, LOGIN, ON_CREATE, Step
from llm_fleet_node.steps import every_step

PACKAGE = Path(__file__).parents[2] / "lifecycle_scripts/llm_fleet_node"
STEPS = every_step()
MODULES = sorted(PACKAGE.rglob("*.py"))
HOOKS = sorted((role, hook) for role in EVERY_ROLE for hook in EVERY_HOOK)
NETWORK = {"urllib.request", "http", "ssl", "socketserver", "asyncio", "smtplib", "ftplib", "xmlrpc"}
COSTLY = {"urllib.request", "http.client", "ssl", "ctypes", "asyncio", "email", "multiprocessing"}
"""Modules that take long to load. Every node loads every step at each start, and few need these."""

LONGEST = {"training_environment": 2.5 * 3600}
"""Timeouts in seconds of steps above half an hour: HyperPod allows 3 hours for a group."""

one_step = pytest.mark.parametrize("step", STEPS.values(), ids=lambda step: step.name)
PROGRAM = PACKAGE / "metrics"
"""A separate program that no step loads: it builds the host names of the Region's services to send to them."""
one_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))


def source(step: Step) -> Path:
    return PACKAGE / "steps" / f"{step.name}.py"


def test_there_are_steps() -> None:
    assert len(STEPS) >= 20


@one_step
def test_a_step_has_the_name_of_its_file(step: Step) -> None:
    assert source(step).is_file()


@one_step
def test_its_functions_are_those_of_its_file(step: Step) -> None:
    for name in ("apply", "verify"):
        function = getattr(step, name)
        assert function.__name__ == f"_{name}"
        assert function.__module__ == f"llm_fleet_node.steps.{step.name}"


@one_step
def test_it_declares_its_roles_and_its_summary(step: Step) -> None:
    assert step.roles
    assert step.roles <= EVERY_ROLE
    assert step.hooks
    assert step.hooks <= EVERY_HOOK
    assert 10 < len(step.summary) <= 100
    assert step.summary[-1] != "."
    assert "\n" not in step.summary


@one_step
def test_its_timeout_is_in_range(step: Step) -> None:
    assert 0 < step.timeout <= LONGEST.get(step.name, 1800)
    assert 0 <= step.retries <= 5


@one_step
def test_a_step_that_installs_has_more_time_than_the_package_manager(step: Step) -> None:
    if re.search(r"\binstall\(node", source(step).read_text()):
        assert step.timeout > LOCK_SECONDS + INSTALL_SECONDS


@one_step
def test_its_needs_are_steps(step: Step) -> None:
    assert {*step.needs, *step.after} <= STEPS.keys()
    assert step.name not in {*step.needs, *step.after}
    assert not {*step.needs} & {*step.after}, "`needs` already includes waiting"
    assert len({*step.needs, *step.after}) == len(step.needs + step.after), "named twice"


@one_step
def test_its_file_is_short(step: Step) -> None:
    text = source(step).read_text()
    assert len(text.splitlines()) < 150
    assert ast.get_docstring(ast.parse(text))


@one_step
def test_its_verify_calls_no_changing_method(step: Step) -> None:
    """`verify` calls none of the host's changing methods. What it calls in other modules, the steps' own tests show."""
    changing = {"write", "remove", "folder", "link"}
    called = {
        call.func.attr
        for function in ast.walk(ast.parse(source(step).read_text()))
        if isinstance(function, ast.FunctionDef) and function.name.lstrip("_") == "verify"
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    }
    assert not called & changing


@pytest.mark.parametrize(("role", "hook"), HOOKS)
def test_steps_fit_together_for_each_role_in_each_hook(role: str, hook: str) -> None:
    built = graph.build(STEPS, role, hook)  # raises on a cycle, an unknown need, or a role without steps
    seen: set[str] = set()
    for name in built.steps:
        assert built.after[name] <= seen, f"{name} comes before what it waits for"
        seen.add(name)
    assert seen == {step.name for step in STEPS.values() if role in step.roles and hook in step.hooks}


@pytest.mark.parametrize("role", [COMPUTE, LOGIN])
def test_no_job_starts_before_directory_users_exist(role: str) -> None:
    """In a fleet with a directory and without users, the step `users` and its needs are skipped."""
    without_users = graph.build(
        STEPS, role, ON_CREATE, not_needed=lambda step: "no users" if step.name == "users" else None
    )
    assert "directory" in without_users.needs["slurmd"]


def test_a_cycle_is_detected() -> None:
    first = next(iter(STEPS.values()))
    step = Step("a", first.summary, EVERY_ROLE, first.apply, first.verify, after=("b",))
    other = Step("b", first.summary, EVERY_ROLE, first.apply, first.verify, needs=("a",))
    with pytest.raises(Failure, match="a -> b -> a"):
        graph.build({"a": step, "b": other}, COMPUTE, ON_CREATE)


@pytest.mark.parametrize(("role", "hook"), HOOKS)
def test_each_single_step_can_be_skipped(role: str, hook: str) -> None:
    for name in STEPS:
        assert name not in graph.build(STEPS, role, hook, [name]).steps


@pytest.mark.parametrize("path", sorted((PACKAGE / "steps").glob("*.py")), ids=lambda path: path.name)
def test_no_step_contains_an_internet_address(path: Path) -> None:
    """A node in a closed network runs the same steps: downloads are only in the manifest."""
    assert urls(path) == []


@one_module
def test_no_module_contains_a_download_address(path: Path) -> None:
    """Outside comments, only the machine itself, AWS's link-local services and the region's S3 are named."""
    allowed = ("http://169.254.169.", "http://127.0.0.1", "http://localhost", "http://[fd00:ec2::", "https://s3.")
    of_region = {"https://"} if PROGRAM in path.parents else set[str]()
    assert [url for url in urls(path) if not url.startswith(allowed) and url not in of_region] == []


def test_addresses_are_detected(tmp_path: Path) -> None:
    (tmp_path / "step.py").write_text(
        '"""See https://doc."""\n# https://comment\nx = f"get {1} from https://example.com"\n'
    )
    assert urls(tmp_path / "step.py") == ["https://example.com"]


@pytest.mark.parametrize(
    "path", [path for path in MODULES if PROGRAM not in path.parents], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_module_loads_the_network_before_it_needs_it(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for statement in tree.body:
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names = [statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)]
        assert not {name for name in names if name in NETWORK or name.split(".")[0] in NETWORK}


def test_loading_every_step_loads_nothing_costly() -> None:
    code = (
        "import sys; from llm_fleet_node.steps import every_step; every_step(); "
        f"print(*sorted(sys.modules.keys() & {COSTLY | {'llm_fleet_node.metrics'}!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def urls(path: Path) -> list[str]:
    """Addresses in the strings of a module, without docstrings, which have sources of facts."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
    ]
    return [word for text in strings for word in text.split() if "http://" in word or "https://" in word]
