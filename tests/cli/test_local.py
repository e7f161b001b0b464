"""`llm-fleet local` without an emulator: missing packages, folders, and the project that is deployed."""

import os
import shutil
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from llm_fleet.cli.main import main
from llm_fleet_local.command import run
from llm_fleet_local.command.cdk_cli import environment_of_cdk, installed_cdk
from llm_fleet_local.command.emulator_process import running
from llm_fleet_local.command.next_steps import variables
from llm_fleet_local.command.project import LocalError, Project
from llm_fleet_stacks.synth import use_node_of_environment
from tools.synth_environment import ROOT

EXAMPLE = str(ROOT / "examples" / "hyperpod-trn1.yaml")
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "package"),
    [(["local", "deploy", EXAMPLE], "boto3"), (["local", "serve", "cdk.out", "--port", "0", "--tasks", "1"], "jwt")],
)
def test_missing_packages_are_reported_with_the_extra_that_brings_them(
    words: list[str], package: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "llm_fleet_local.command.run", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("aws.client", "serving.run_until_stopped", "serving.local_issuer"):
        monkeypatch.delitem(sys.modules, f"llm_fleet_local.{name}", raising=False)
    assert main(words) == 1
    reported = capsys.readouterr().err
    assert "[LF1014]" in reported
    assert f"the package `{package}` is not installed" in reported
    assert 'pip install "llm-fleet[local]"' in reported


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["status"], "or start one with `llm-fleet local up`"),
        (["destroy", EXAMPLE], "deploy with `llm-fleet local deploy`"),
    ],
)
def test_nothing_that_runs_is_an_error_with_the_next_command(
    words: list[str], remedy: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path))
    assert main(["local", *words]) == 1
    reported = capsys.readouterr().err
    assert "[LF1015]" in reported
    assert remedy in reported


def test_a_folder_that_cannot_be_written_is_reported(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path / "file" / "folder"))
    assert main(["local", "up"]) == 1
    reported = capsys.readouterr().err
    assert f"{tmp_path}/file/folder cannot be written: not a directory" in reported
    assert "set LLM_FLEET_LOCAL_FOLDER to a folder that you can write" in reported


def test_errors_of_the_fleet_file_are_reported_before_the_emulator_starts(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path / "state"))
    (tmp_path / "fleet.yaml").write_text("fleet: a\n")
    assert main(["local", "deploy", str(tmp_path / "fleet.yaml")]) == 1
    assert "[LF111]" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_the_project_is_the_folder_of_the_nearest_cdk_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLM_FLEET_LOCAL_FOLDER", raising=False)
    inner = tmp_path / "fleets" / "train"
    inner.mkdir(parents=True)
    assert Project.of(inner) == Project(inner, has_app=False)
    (tmp_path / "cdk.json").write_text("{}")
    assert Project.of(inner) == Project(tmp_path, has_app=True)
    Project.of(inner).prepare()
    assert (tmp_path / ".llm-fleet" / ".gitignore").read_text() == "*\n"


def test_the_cdk_cli_of_the_project_is_used(tmp_path: Path) -> None:
    cli = tmp_path / "node_modules" / ".bin" / "cdk"
    cli.parent.mkdir(parents=True)
    cli.touch()
    (tmp_path / "inner").mkdir()
    assert installed_cdk(Project(tmp_path / "inner", has_app=False), Console()) == cli


def test_a_failed_installation_of_the_cdk_cli_is_reported_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_registry", "http://localhost:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    with pytest.raises(LocalError) as failed:
        installed_cdk(Project(tmp_path, has_app=False), Console())
    assert "npm cannot install the CDK CLI: " in failed.value.message
    assert "ECONNREFUSED" in failed.value.message
    assert list((tmp_path / "cache" / "llm-fleet").iterdir()) == []


@pytest.mark.parametrize("command", ["up", "status", "stop", "deploy", "destroy"])
def test_each_command_takes_the_fleet_file_of_the_project(
    command: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an argument and with -f; a wrong name is an error, and no directory is created."""
    folders = list[Path]()
    for name in ("_found_or_started", "emulator_process"):
        monkeypatch.setattr(run, name, _Emulators(folders))
    monkeypatch.delenv("LLM_FLEET_LOCAL_FOLDER", raising=False)
    file = tmp_path / "fleet.yaml"
    shutil.copy(EXAMPLE, file)
    for words in ([str(file)], ["-f", str(file)]):
        assert main(["local", command, *words]) in (0, 1)
    assert set(folders) == {tmp_path}
    capsys.readouterr()
    assert main(["local", command, "-f", str(tmp_path / "typo" / "fleet.yaml")]) == 1
    assert "[LF101]\n  this file does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


class _Emulators:
    """Records the folders of the projects whose emulator is searched, started or stopped; there is none."""

    def __init__(self, folders: list[Path]) -> None:
        self._folders = folders

    def __call__(self, project: Project, console: Console) -> None:
        self._folders.append(project.folder)
        raise LocalError("no emulator", "none")

    def running(self, project: Project) -> None:
        self._folders.append(project.folder)

    def stop(self, project: Project) -> bool:
        self._folders.append(project.folder)
        return False


def test_a_proxy_is_not_used_for_the_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "corp.example")
    for _ in range(2):
        assert main(["local", "status"]) == 1
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "corp.example,localhost,127.0.0.1"
    assert variables("http://localhost:1").endswith(" NO_PROXY=corp.example,localhost,127.0.0.1")
    monkeypatch.delenv("http_proxy")
    assert "NO_PROXY" not in variables("http://localhost:1")


def test_a_home_that_cannot_be_written_keeps_no_packages_of_jsii(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's state is the home of the CDK CLI, so that jsii's default is there."""
    made: list[dict[str, str]] = []
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("JSII_RUNTIME_PACKAGE_CACHE", "JSII_RUNTIME_PACKAGE_CACHE_ROOT"):
        monkeypatch.setenv(name, "")  # So that the test's value is removed at its end.
        monkeypatch.delenv(name)
    for writable in (True, False):
        monkeypatch.setattr(os, "access", Mock(return_value=writable))  # Root can write everywhere.
        made.append(dict(environment_of_cdk(Project(tmp_path, has_app=False), "http://localhost:1", "us-west-2")))
        use_node_of_environment()
        assert os.environ.get("JSII_RUNTIME_PACKAGE_CACHE") == (None if writable else "disabled")
    root = "JSII_RUNTIME_PACKAGE_CACHE_ROOT"
    assert (made[0][root], made[1].get(root)) == (f"{tmp_path}/home/.cache/aws/jsii/package-cache", None)
    assert made[1]["HOME"] == str(tmp_path / ".llm-fleet" / "home")


@pytest.mark.parametrize("state", ['{"pid": 1, "endpoint": "http://localhost:9"}', "{", "{}"])
def test_a_state_file_of_a_dead_emulator_is_ignored(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process id may belong to another program, and a killed start may leave a part of the file."""
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path))
    (tmp_path / "server.json").write_text(state)
    assert running(Project(tmp_path, has_app=False)) is None
