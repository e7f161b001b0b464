"""Training environments: built by real Pythons and pip from tiny wheels, imported, verified, and built again."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Environment, Package
from llm_fleet_node.node import Node
from llm_fleet_node.steps.training_environment import STEP
from llm_fleet_node.training import environments, pinned, shared_files
from llm_fleet_node.training import marker as marker_module
from tests.lifecycle_scripts.convergence import KilledError, again, assert_fails
from tests.lifecycle_scripts.step_node import file, program
from tests.lifecycle_scripts.training.training_node import (
    CONTROLLER,
    FOLDER,
    VENV,
    cached,
    make,
    marker,
    wheel,
    with_environment,
    with_files,
)

STAND_INS = Path(__file__).parents[3] / "local/llm_fleet_local/drill/stand_ins/programs"
PROCESS = Path(__file__).with_name("node_process.py")
PLACE = f"{FOLDER}/environments/cpu-1"
TOOLS = ("bash", "cat", "grep", "head", "id", "mkdir", "tail", "tar", "bzip2")
ECR = "658645717510.dkr.ecr.us-west-2.amazonaws.com"
IMAGE = Environment("smp-1", "container", ("workers",), None, (), f"docker://{ECR}#smp:2.5.1-gpu")
CONDA = Environment("conda-1", "conda", ("workers",), "/usr/bin/conda", (Package("tiny", "1.0"),), None)


EXEC = "os.execv(sys.executable, [sys.executable, *a])"
KEEP = f"""import shutil, subprocess
if 'venv' in a:
    code = subprocess.call([sys.executable, *a])
    shutil.copytree(a[-1], root + '-fresh', symlinks=True)
    sys.exit(code)
{EXEC}"""
"""A copy of the output of `python -m venv`, which takes seconds: see `fresh`."""
COPY = f"""import shutil
if 'venv' in a:
    shutil.copytree({{fresh!r}}, a[-1], symlinks=True, copy_function=os.link)
    sys.exit()
{EXEC}"""


def python(root: Path, body: str = EXEC) -> None:
    program(root, "python3", body)


def ready(root: Path, body: str = EXEC, *, name: str = "tiny-train", data: bytes | None = None) -> Node:
    """A node with an interpreter and the pinned wheel of the environment."""
    node = make(root)
    python(root, body)
    package = name.replace("-", "_")
    content = wheel("tiny-train") if data is None else data
    return with_files(node, cached(node, content, f"{package}-1.0-py3-none-any.whl", name=name))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared folder with the environment, built once for tests that only read or damage a copy."""
    root = tmp_path_factory.mktemp("built")
    node = ready(root, KEEP)
    STEP.apply(node)
    STEP.verify(node)
    return root


@pytest.fixture
def fresh(built: Path) -> str:
    """An interpreter whose `-m venv` copies the environment of `built`."""
    return COPY.format(fresh=f"{built}-fresh")


def copied(built: Path, root: Path) -> Path:
    """A copy of the environment to damage: hard-linked, except for its marker, which tests change."""

    def copy(source: str, target: str) -> None:
        (shutil.copy2 if source.endswith(marker_module.NAME) else os.link)(source, target)

    shutil.copytree(built, root, symlinks=True, copy_function=copy)
    return root


def test_jobs_can_import_pinned_packages_and_run_their_scripts(built: Path) -> None:
    prefix = built / PLACE.lstrip("/")
    reported = subprocess.run(
        [prefix / "bin/python", "-c", "import sys, tiny_train; print(sys.prefix, tiny_train.ANSWER)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert reported.stdout.split() == [str(prefix), "42"]
    script = (prefix / "bin/tiny-train").read_text().splitlines()[0]
    assert Path(script[2:]).exists(), (
        "its first line names an interpreter that exists, also after the environment was published"
    )
    assert prefix.is_symlink()
    assert not os.readlink(prefix).startswith("/")


def test_the_marker_has_the_content_and_the_builder(built: Path) -> None:
    reported = marker(make(built), f"{PLACE}/.llm-fleet.json")
    assert reported["environment"] == {
        "name": "cpu-1",
        "kind": "venv",
        "program": "python3",
        "packages": [["tiny-train", "1.0"]],
        "image": None,
    }
    assert reported["files"]["tiny-train"]["version"] == "1.0"
    assert len(reported["files"]["tiny-train"]["sha256"]) == 64
    assert reported["python"] == ".".join(map(str, sys.version_info[:3]))


def test_other_nodes_only_verify_the_environment(built: Path) -> None:
    node = make(built)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.changes == []
    (lock,) = (built / "fsx/llm-fleet/locks").iterdir()
    assert lock.name == "environment-cpu-1.00000001"


def test_of_three_nodes_that_start_together_one_builds_and_all_pass(fresh: str, tmp_path: Path) -> None:
    """Each in a process of its own, with a common file system."""
    shared = tmp_path / "shared"
    shared.mkdir()
    roots = [tmp_path / str(number) for number in range(3)]
    for root in roots:
        root.mkdir()
        (root / "fsx").symlink_to(shared)
    processes = [
        subprocess.Popen([sys.executable, PROCESS, root, fresh], stdout=PIPE, stderr=subprocess.STDOUT, text=True)
        for root in roots
    ]
    reported = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], reported
    assert sorted(line.strip() for line in reported) == ["built", "found", "found"]
    assert len(list((shared / "llm-fleet/environments/.built/cpu-1").iterdir())) == 1
    assert [path.name for path in (shared / "llm-fleet/programs").iterdir() if path.name.startswith(".")] == []


def test_an_incomplete_environment_is_built_again(fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = ready(tmp_path, fresh)

    def kill(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(shared_files, "link", kill)
        with pytest.raises(KilledError):
            STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN140"):
        STEP.verify(node)
    # Killed during the installation: pip has written files, and there is no marker.
    half = tmp_path / "fsx/llm-fleet/environments/.built/cpu-1/half/lib"
    half.mkdir(parents=True)
    STEP.apply(again(node))
    STEP.verify(node)
    assert not half.exists()
    assert len(list(half.parents[1].iterdir())) == 2, "a complete one is kept, although no link points to it"


def test_a_build_that_lost_its_lock_publishes_nothing(
    fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it was suspended, another node has taken the lock."""
    node = ready(tmp_path, fresh)
    write = marker_module.write

    def late(*words: Any) -> None:
        write(*words)
        (tmp_path / "fsx/llm-fleet/locks/environment-cpu-1.00000002").write_text("{}")

    monkeypatch.setattr(marker_module, "write", late)
    with pytest.raises(Failure, match=r"LFN143"):
        STEP.apply(node)
    assert not node.host.path(PLACE).is_symlink()


def remove_package(prefix: Path) -> None:
    shutil.rmtree(next(prefix.glob("lib/python*/site-packages/tiny_train")))


def remove_a_file_of_it(prefix: Path) -> None:
    next(prefix.glob("lib/python*/site-packages/tiny_train/__init__.py")).unlink()


def remove_script(prefix: Path) -> None:
    (prefix / "bin/tiny-train").unlink()


def remove_marker(prefix: Path) -> None:
    (prefix / ".llm-fleet.json").unlink()


def remove_all(prefix: Path) -> None:
    shutil.rmtree(prefix.resolve())


def cut_off_marker(prefix: Path) -> None:
    (prefix / ".llm-fleet.json").write_text('{"environment": ')


def add_package(prefix: Path) -> None:
    (next(prefix.glob("lib/python*/site-packages")) / "other").mkdir()


BREAKS = [remove_package, remove_a_file_of_it, remove_script, remove_marker, remove_all, cut_off_marker, add_package]


@pytest.mark.parametrize("spoil", BREAKS, ids=lambda spoil: spoil.__name__)
def test_a_damaged_environment_is_detected(built: Path, tmp_path: Path, spoil: object) -> None:
    node = make(copied(built, tmp_path / "node"))
    STEP.verify(node)
    assert callable(spoil)
    spoil(node.host.path(PLACE))
    with pytest.raises(Failure, match=r"LFN140"):
        STEP.verify(node)


def test_a_damaged_environment_is_built_again_while_jobs_continue(built: Path, fresh: str, tmp_path: Path) -> None:
    node = ready(copied(built, tmp_path / "node"), fresh)
    old = node.host.path(PLACE).resolve()
    remove_script(old)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.path(PLACE).resolve() != old
    assert (old / "bin/python").exists()


def test_an_environment_with_other_packages_is_not_accepted(built: Path) -> None:
    other = with_environment(make(built), replace(VENV, packages=(Package("tiny-train", "2.0"),)))
    with pytest.raises(Failure, match=r"LFN140 .* was built from .*, not from "):
        STEP.verify(other)


def test_a_wheel_for_another_python_is_reported_before_the_download(tmp_path: Path) -> None:
    node = ready(tmp_path)
    file_name = "tiny_train-1.0-cp27-cp27m-manylinux1_x86_64.whl"
    node = with_files(node, cached(node, b"", file_name, name="tiny-train"))
    shutil.rmtree(tmp_path / "var")
    with pytest.raises(
        Failure, match=rf"LFN135 .*Python {sys.version_info[0]}\.\d+.*cp27-cp27m.* is not for"
    ) as reported:
        STEP.apply(node)
    assert reported.value.final


def test_a_node_without_the_interpreter_is_reported(tmp_path: Path) -> None:
    node = ready(tmp_path)
    (tmp_path / "usr/bin/python3").unlink()
    with pytest.raises(Failure, match=r"LFN135 .*has no python3"):
        STEP.apply(node)


def test_a_node_with_a_missing_or_another_interpreter_fails(built: Path, tmp_path: Path) -> None:
    """The environment is on shared storage, its interpreter on each node."""
    node = make(copied(built, tmp_path / "node"))
    place = node.host.path(PLACE)
    (place / "bin/python").unlink()
    (place / "bin/python").symlink_to("/usr/bin/no-such-python")
    with pytest.raises(Failure, match=r"LFN135"):
        STEP.verify(node)
    (place / "bin/python").unlink()
    file(place, "bin/python", f"#!{sys.executable}\nprint('[[3, 4, 1], \"\"]')\n", 0o755)
    with pytest.raises(Failure, match=r"LFN135 .*built with Python 3\.\d+\.\d+, this node has 3\.4\.1"):
        STEP.verify(node)


def test_an_interpreter_without_venv_is_reported_with_its_message(tmp_path: Path) -> None:
    node = ready(tmp_path)
    body = "if '-m' in a: sys.exit('ensurepip is not available: apt install python3-venv')\n"
    python(tmp_path, body + "os.execv(sys.executable, [sys.executable, *a])")
    with pytest.raises(Failure, match=r"(?s)LFN135 .*ensurepip is not available"):
        STEP.apply(node)


def test_a_wheel_that_pip_rejects_is_reported_with_pips_message(fresh: str, tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN136"):
        STEP.apply(ready(tmp_path, fresh, data=b"no zip at all"))
    assert not list((tmp_path / PLACE.lstrip("/")).parent.glob("cpu-1"))


def test_missing_disk_space_is_reported_before_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=100)

    def reported(_: Path) -> object:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", reported)
    with pytest.raises(Failure, match=r"LFN131 .*100 bytes free, but cpu-1 of"):
        STEP.apply(ready(tmp_path))


def test_a_full_local_disk_is_distinguished_from_full_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(pinned, "fetch_files", full)
    with pytest.raises(Failure, match=r"LFN46 .*/var/cache/llm-fleet"):
        STEP.apply(ready(tmp_path))


def test_storage_that_becomes_full_during_the_build_is_reported(tmp_path: Path) -> None:
    node = ready(tmp_path)
    python(tmp_path, "if '-m' in a: sys.exit('OSError: [Errno 28] No space left on device')\n" + EXEC)
    with pytest.raises(Failure, match=r"LFN131"):
        STEP.apply(node)


def test_pip_uses_no_index_no_configuration_and_only_pinned_files(
    fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[tuple[tuple[str, ...], object]] = []
    real = Host.run

    def run(host: Host, *command: str, **more: object) -> str:
        requested.append((command, more.get("env")))
        return real(host, *command, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Host, "run", run)
    STEP.apply(ready(tmp_path, fresh))
    ((command, env),) = [(command, env) for command, env in requested if "install" in command]
    assert {"--isolated", "--no-index", "--no-deps", "--only-binary", "-I"} <= {*command}
    assert command[-1].endswith("/tiny_train-1.0-py3-none-any.whl")
    assert env == {"PIP_CONFIG_FILE": "/dev/null"}


def test_only_nodes_that_run_jobs_need_it(tmp_path: Path) -> None:
    assert STEP.roles == {"Compute"}
    assert STEP.skip(make(tmp_path)) is None
    for nobodys in (replace(VENV, groups=("others",)), replace(VENV, groups=())):
        node = with_environment(make(tmp_path), nobodys)
        assert STEP.skip(node) == "the group has no training environment"
    assert STEP.skip(make(tmp_path, group=CONTROLLER, training=None)) == "the fleet has no training runtime"


def test_storage_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30), "/fsx/llm-fleet/locks")

    node = ready(tmp_path)
    monkeypatch.setattr(environments, "build_once", refuse)
    assert_fails(Code.TRAINING_STORAGE, STEP.apply, node, match=r"LFN130 .*Read-only")
