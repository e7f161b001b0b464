"""The lifecycle script writes the same files on a throwaway root at each run, and prints the reason of a failure."""

import configparser
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook import check_script_size
from tests.lifecycle_scripts.notebook_instance.conftest import made_script
from tests.lifecycle_scripts.notebook_instance.throwaway_notebook import ThrowawayNotebook
from tests.lifecycle_scripts.test_shape import _newer as newer_than_python_39  # pyright: ignore[reportPrivateUsage]
from tools.synth_environment import ROOT

SOURCES = ROOT / "lifecycle_scripts" / "notebook_instance"
TOOLS = Path(sys.executable).parent
TIMER = "llm-fleet-auto-stop.timer"


def test_a_fresh_instance_gets_pins_its_bucket_and_the_auto_stop(notebook: ThrowawayNotebook, script: str):
    ended = notebook.start(script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "ready; the instance is stopped when idle" in ended.stdout
    assert notebook.text("etc/llm-fleet/constraints.txt") == "sagemaker<3\n"
    session = json.loads(notebook.text("etc/xdg/sagemaker/config.yaml"))["SageMaker"]["PythonSDK"]["Modules"]["Session"]
    assert session == {"DefaultS3Bucket": "our-data"}
    hello = notebook.root / "usr/local/bin/hello"
    assert subprocess.run([hello], capture_output=True, text=True, check=True).stdout == "hello\n"
    assert [call for call in notebook.calls() if call.startswith("systemctl")] == [
        "systemctl daemon-reload",
        f"systemctl enable --now {TIMER}",
        f"systemctl is-active --quiet {TIMER}",
    ]
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    unit.read_string(notebook.text("etc/systemd/system/llm-fleet-auto-stop.service"))
    service = unit["Service"]
    python, _, module = service["ExecStart"].partition(" -m ")
    assert python == str(notebook.root / "home/ec2-user/anaconda3/envs/JupyterSystemEnv/bin/python3")
    # The Python is one that the notebook's user can change: root must never run it.
    assert (service["User"], module, service["WorkingDirectory"]) == ("ec2-user", "notebook_instance", "/opt/llm-fleet")


def test_each_start_has_the_same_result(notebook: ThrowawayNotebook, script: str):
    assert notebook.start(script).returncode == 0
    before = {path: path.read_bytes() for path in _laid(notebook)}
    (notebook.root / "opt/llm-fleet/notebook_instance/left-over.py").write_text("of an older script")
    assert notebook.start(script).returncode == 0
    assert {path: path.read_bytes() for path in _laid(notebook)} == before


def test_the_platforms_configuration_of_pip_is_kept(notebook: ThrowawayNotebook, script: str):
    conf = notebook.root / "etc/pip.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("[global]\nindex-url = https://mirror.example/simple\nconstraint = /etc/platform.txt\n")
    (notebook.root / "etc/platform.txt").write_text("")
    assert notebook.start(script).returncode == 0
    read = configparser.RawConfigParser()
    read.read(conf)
    assert read["global"]["index-url"] == "https://mirror.example/simple"
    for command in ("install", "download", "wheel"):
        assert read[command]["constraint"].split() == [
            "/etc/platform.txt",
            str(notebook.root / "etc/llm-fleet/constraints.txt"),
        ]


def test_an_existing_configuration_of_the_sdk_is_kept(notebook: ThrowawayNotebook, script: str):
    path = notebook.root / "etc/xdg/sagemaker/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("SchemaVersion: '1.0'\n")
    ended = notebook.start(script)
    assert ended.returncode == 0
    assert path.read_text() == "SchemaVersion: '1.0'\n"
    assert "config.yaml exists and is kept" in ended.stdout


def test_without_a_limit_no_timer_and_no_python_are_needed(notebook: ThrowawayNotebook):
    notebook.conda("JupyterSystemEnv/bin/python3", "exit 1")
    ended = notebook.start(made_script(idle_minutes=None))
    assert ended.returncode == 0, ended.stderr
    assert "the instance is not stopped when it is idle" in ended.stdout
    assert not any("systemctl" in call for call in notebook.calls())


def test_without_pins_pip_is_not_changed(notebook: ThrowawayNotebook):
    assert notebook.start(made_script(pins=())).returncode == 0
    assert not (notebook.root / "etc/pip.conf").exists()


def test_a_stopped_timer_fails_the_start(notebook: ThrowawayNotebook, script: str):
    notebook.program("systemctl", "if [[ $1 == is-active ]]; then exit 3; fi")
    ended = notebook.start(script)
    assert ended.returncode == 1
    assert ended.stderr == f"llm-fleet: {TIMER} does not run\n"


def test_a_pip_that_ignores_the_pins_fails_the_start(notebook: ThrowawayNotebook, script: str):
    notebook.conda("python3/bin/pip", "echo \"install.constraint='/home/ec2-user/own.txt'\"")
    ended = notebook.start(script)
    assert ended.returncode == 1
    assert "pip does not use the pins, but install.constraint='/home/ec2-user/own.txt'" in ended.stderr


def test_a_platform_without_boto3_fails_the_start(notebook: ThrowawayNotebook, script: str):
    notebook.program("runuser", 'if [[ $* == *"import boto3" ]]; then exit 1; fi\nshift 3\nexec "$@"')
    ended = notebook.start(script)
    assert ended.returncode == 1
    assert "no Python here has boto3" in ended.stderr


def test_the_script_is_within_sagemakers_limit(script: str):
    assert check_script_size(script, notebook_facts().script_characters_max, SageMakerCode.NOTEBOOK_SCRIPT) == []
    assert notebook_facts().script_characters_max == 16384
    longer = script + "x" * (12288 - len(script.encode()))
    assert check_script_size(longer, 16384, SageMakerCode.NOTEBOOK_SCRIPT) == []
    (problem,) = check_script_size(longer + "x", 16384, SageMakerCode.NOTEBOOK_SCRIPT)
    assert problem.code.value == "LF918"
    assert check_script_size("${Token[TOKEN.1]}" * 97, 16384, SageMakerCode.NOTEBOOK_SCRIPT) != [], (
        "tokens become longer"
    )


@pytest.mark.parametrize("tool", [["shellcheck"], ["shfmt", "-d", "-i", "2", "-ci"]], ids=["shellcheck", "shfmt"])
def test_shellcheck_accepts_the_scripts(tool: list[str], script: str, tmp_path: Path):
    made = tmp_path / "made.sh"
    made.write_text(script)
    files = [*SOURCES.glob("*.sh"), *([made] if tool[0] == "shellcheck" else [])]
    ended = subprocess.run([TOOLS / tool[0], *tool[1:], *files], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_modules_run_on_the_python_of_amazon_linux_2023():
    for path in SOURCES.glob("*.py"):
        assert newer_than_python_39(path.read_text(encoding="utf-8")) == [], path.name


def _laid(notebook: ThrowawayNotebook) -> list[Path]:
    folders = ("etc", "opt", "usr/local")
    found = [
        Path(at) / name for folder in folders for at, _, names in os.walk(notebook.root / folder) for name in names
    ]
    return sorted(path for path in found if path.suffix != ".pyc")
