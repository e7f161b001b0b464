"""The command in a terminal, in a pipe, and interrupted."""

import json
from pathlib import Path

import pytest

from tests.terminal import run, run_in_terminal


def test_a_command_that_is_wrong_says_so_in_a_narrow_terminal(tmp_path: Path):
    ran = run_in_terminal("validate", "missing.yaml", folder=tmp_path, columns=40)
    assert ran.code == 1
    assert "missing.yaml" in ran.out


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path):
    ran = run_in_terminal(
        "validate",
        environment={"PYTHONSTARTUP": "", "PYTHONPATH": str(_sleeping_load(tmp_path))},
        folder=tmp_path,
        interrupt_at="loading",
    )
    assert ran.code == 130
    assert "Traceback" not in ran.out


def _sleeping_load(folder: Path) -> Path:
    """A `sitecustomize` that makes the loading of fleet files take long."""
    (folder / "sitecustomize.py").write_text(
        "import time\n"
        "import llm_fleet.config.load as load\n"
        "def slow(path):\n"
        "    print('loading', flush=True)\n"
        "    time.sleep(60)\n"
        "load.load_fleet = slow\n"
    )
    return folder


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_every_command(shell: str):
    ran = run("completion", shell)
    assert ran.code == 0
    for verb in ("validate", "schema", "jobs", "mirror", "completion"):
        assert verb in ran.out


def test_problems_are_json_where_json_is_asked_for(tmp_path: Path):
    ran = run("jobs", "list", "missing.yaml", "--json", folder=tmp_path)
    assert ran.code == 1
    assert [problem["code"] for problem in json.loads(ran.out)["problems"]] == ["LF101"]
    assert "missing.yaml" in ran.err
