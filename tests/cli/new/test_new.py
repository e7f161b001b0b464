"""`llm-fleet new`: options, questions, errors, and the files that it writes. test_project.py runs the projects."""

import json
import os
import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.cli import write_files
from llm_fleet.cli.main import main
from llm_fleet.cli.new.kinds import KINDS
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.fleet_file.schema import schema_text
from llm_fleet_stacks.synth import recommended_context
from tests.terminal import run_in_terminal
from tools.make_docs_commands import command_line
from tools.synth_environment import ROOT

Capture = pytest.CaptureFixture[str]
WORKFLOWS = ("pull-request.yml", "deploy.yml")


@pytest.fixture(scope="module", params=KINDS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of each kind, by defaults."""
    folder = tmp_path_factory.mktemp("new") / "Große Flotte 1"
    assert main(["new", str(folder), "--kind", request.param, "--yes"]) == 0
    return folder


def test_the_fleet_file_is_valid_and_named_after_the_directory(project: Path):
    assert load_fleet(project / "fleet.yaml").name == "grosse-flotte-1"


def test_the_schema_and_the_cdk_cli_are_those_of_this_installation(project: Path):
    first = (project / "fleet.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=.llm-fleet.schema.json"
    assert (project / ".llm-fleet.schema.json").read_text() == schema_text()
    for name in ("package.json", "package-lock.json"):
        assert (project / name).read_text() == (ROOT / name).read_text()


def test_the_app_is_that_of_the_checkout_with_the_recommended_flags(project: Path):
    assert (project / "app.py").read_text() == (ROOT / "app.py").read_text()
    app = json.loads((project / "cdk.json").read_text())
    assert app == {"app": "python3 -O app.py", "context": recommended_context()}


def test_pyproject_requires_this_minor_version_and_python_3_11(project: Path):
    written = tomllib.loads((project / "pyproject.toml").read_text())
    major, minor, *_ = version("llm-fleet").split(".")
    upper = f"{major}.{int(minor) + 1}"
    assert written["project"]["dependencies"] == [f"llm-fleet[local]>={version('llm-fleet')},<{upper}"]
    assert written["project"]["requires-python"] == ">=3.11"
    assert (project / written["tool"]["uv"]["find-links"][0]).is_dir(), "uv rejects a directory that does not exist"


def test_no_placeholder_is_left(project: Path):
    names = re.compile(r"%\{?(name|region|prefix|type|count|head|version|next_version)\b")
    texts = {path: path.read_text() for path in project.rglob("*") if path.is_file() and path.suffix != ".json"}
    assert {path.name for path, text in texts.items() if names.search(text)} == set()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_run_commands_that_exist_with_few_permissions(project: Path, name: str):
    written: dict[str, Any] = yaml.safe_load((project / ".github" / "workflows" / name).read_text())
    assert written["permissions"] == {"contents": "read"}
    commands: list[str] = []
    for job in written["jobs"].values():
        assert set(job.get("permissions", {})) <= {"contents", "id-token", "pull-requests"}
        for step in job["steps"]:
            assert re.fullmatch(r"[a-z-]+/[a-z-]+@v[0-9]+", step.get("uses", "a/b@v1"))
            commands += step.get("run", "").splitlines()
    llm_fleet = [shlex.split(each.partition(" > ")[0])[1:] for each in commands if each.startswith("llm-fleet ")]
    for words in llm_fleet:
        command_line().parse_args(words)
    # In a workflow, `${{ … }}` within a command would run what the title of a pull request contains.
    assert not [each for each in commands if "${{" in each]
    expected = {"pull-request.yml": ["validate", "local", "plan"], "deploy.yml": []}
    assert [words[0] for words in llm_fleet] == expected[name]


def test_commands_of_the_readme_exist(project: Path):
    text = (project / "README.md").read_text()
    for words in re.findall(r"^\$ llm-fleet ([^#\n]*)", text, re.M):
        command_line().parse_args(shlex.split(words))
    for name in re.findall(r"^\| `([^`]+)`(?:, `([^`]+)`)? \|", text.partition("## Files")[2], re.M):
        assert all((project / each).is_file() for each in name if each), name


def test_options_are_in_the_fleet_file(tmp_path: Path):
    options = ["--kind", "parallelcluster", "--region", "eu-central-1", "--instance-type", "c7g.xlarge", "--count", "9"]
    assert main(["new", str(tmp_path / "a"), *options, "--name", "no", "--yes"]) == 0
    written = yaml.safe_load((tmp_path / "a" / "fleet.yaml").read_text())
    assert (written["fleet"], written["region"], written["network"]) == ("no", "eu-central-1", {"az": "euc1-az1"})
    cluster = written["clusters"]["train"]
    assert cluster["queues"] == {"workers": {"type": "c7g.xlarge", "max": 9}}
    assert cluster["head"] == {"type": "m7g.2xlarge"}, "the nodes run the head node's Slurm"
    assert tomllib.loads((tmp_path / "a" / "pyproject.toml").read_text())["project"]["name"] == "no"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--region", "eu-nowhere-1"], r"--region  \[LF558\]\n  unknown AWS Region\n  given:   'eu-nowhere-1'"),
        (["--region", "us-west-2\nclusters: {}"], r"--region  \[LF558\]"),
        (["--region", "eu-west-3"], r"--region  \[LF559\]\n  AWS does not offer HyperPod in eu-west-3"),
        (["--instance-type", "ml.g99.xlarge"], r"--instance-type  \[LF507\]"),
        (["--kind", "parallelcluster", "--instance-type", "ml.g5.xlarge"], r"--instance-type  \[LF62\d\]"),
        (["--kind", "inference", "--instance-type", "g5.xlarge"], r"--instance-type  \[LF731\]"),
        (["--count", "-1"], r"--count  \[LF518\]"),
        (["--kind", "parallelcluster", "--count", "-1"], r"--count  \[LF640\]"),
        (["--kind", "inference", "--count", "0"], r"--count  \[LF770\]"),
        (["--kind", "inference", "--region", "eu-north-1"], r"--region  \[LF705\][^$]*given:   'eu-north-1'"),
        (["--name", "A b"], r"--name  \[LF118\][^$]*write `a-b`"),
        (["--name", "A b", "--count", "-1"], r"2 problems in the options:"),
    ],
)
def test_an_error_names_the_option_and_nothing_is_written(
    options: list[str], expected: str, tmp_path: Path, capsys: Capture
):
    assert main(["new", str(tmp_path / "a"), *options, "--yes"]) == 1
    error = capsys.readouterr().err
    assert re.search(expected, error), error
    assert " line " not in error
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_empty_is_rejected_with_its_entries(tmp_path: Path, capsys: Capture):
    for number in range(9):
        (tmp_path / f"file-{number}").touch()
    (tmp_path / ".git").mkdir()
    assert main(["new", str(tmp_path), "--yes"]) == 1
    error = capsys.readouterr().err
    assert "[LF1230]\n  the directory is not empty\n" in error
    assert "given:   '.git, file-0, file-1, file-2, file-3, file-4, file-5, file-6 and 2 more'" in error
    assert len(list(tmp_path.iterdir())) == 10


def test_a_second_run_changes_nothing(tmp_path: Path, capsys: Capture):
    folder = tmp_path / "a"
    assert main(["new", str(folder), "--yes"]) == 0
    (folder / "fleet.yaml").write_text("fleet: mine\n")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert main(["new", str(folder), "--kind", "inference", "--yes"]) == 1
    assert "fleet.yaml" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_file_is_not_replaced(tmp_path: Path, capsys: Capture):
    (tmp_path / "a").write_text("mine")
    assert main(["new", str(tmp_path / "a"), "--yes"]) == 1
    assert "[LF1230]\n  a file with this name exists" in capsys.readouterr().err
    assert (tmp_path / "a").read_text() == "mine"


def test_an_empty_directory_is_used_also_the_current_one_and_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    here, behind = tmp_path / "here", tmp_path / "behind"
    here.mkdir()
    behind.mkdir()
    (tmp_path / "link").symlink_to(behind)
    monkeypatch.chdir(here)
    assert main(["new", ".", "--yes"]) == 0
    assert f"  cd {here}\n" in capsys.readouterr().out
    assert load_fleet(here / "fleet.yaml").name == "here"
    assert main(["new", str(tmp_path / "link"), "--yes"]) == 0
    assert (behind / "fleet.yaml").is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_parent_that_cannot_be_written_is_reported(tmp_path: Path, capsys: Capture):
    tmp_path.chmod(0o555)
    try:
        assert main(["new", str(tmp_path / "a"), "--yes"]) == 1
    finally:
        tmp_path.chmod(0o755)
    assert "[LF161]\n  cannot write the directory: permission denied" in capsys.readouterr().err


def test_a_path_that_cannot_be_read_is_reported(tmp_path: Path, capsys: Capture):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert main(["new", str(tmp_path / "a"), "--yes"]) == 1
    assert main(["new", str(tmp_path / ("x" * 300)), "--yes"]) == 1
    assert capsys.readouterr().err.count("[LF161]") == 2


def test_ctrl_c_in_the_middle_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write, written = write_files.write_file, list[Path]()

    def interrupted(path: Path, text: str, *, force: bool) -> None:
        if len(written) == 5:
            raise KeyboardInterrupt
        write(path, text, force=force)
        written.append(path)

    monkeypatch.setattr(write_files, "write_file", interrupted)
    assert main(["new", str(tmp_path / "a"), "--yes"]) == 130
    assert len(written) == 5
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_prompts_for_what_no_option_sets(tmp_path: Path):
    answers = [
        (r"kind: hyperpod, .*: ", "pcluster\r"),
        (r"unknown kind; write one of .*: ", "inference\r"),
        (r"instance type of the nodes \[inf2.xlarge\]: ", "inf2.8xlarge\r"),
        (r"number of nodes \[2\]: ", "3\r"),
        (r"name of the fleet \[a\]: ", "\r"),
    ]
    ran = run_in_terminal("new", "a", "--region", "us-east-1", folder=tmp_path, typed=answers)
    assert ran.code == 0, ran.out
    assert "AWS Region" not in ran.out
    written = yaml.safe_load((tmp_path / "a" / "fleet.yaml").read_text())
    assert (written["fleet"], written["region"]) == ("a", "us-east-1")
    service = written["services"]["chat"]
    assert (service["instance"], service["count"]) == ("inf2.8xlarge", 3)


def test_each_answer_is_checked_when_it_is_given(tmp_path: Path):
    answers = [
        (r"kind: hyperpod, .*: ", "inference\r"),
        (r"AWS Region \[us-west-2\]: ", "eu-north-1\r"),
        (
            r"--region  \[LF705\][^$]*given:   'eu-north-1'[^$]*write one of the allowed Regions[^$]*AWS Region .*: ",
            "\r",
        ),
        (r"instance type of the nodes \[inf2.xlarge\]: ", "g5.xlarge\r"),
        (r"--instance-type  \[LF731\][^$]*instance type of the nodes \[inf2.xlarge\]: ", "\r"),
        (r"number of nodes \[2\]: ", "three\r"),
        (r"write a whole number, e.g. 2[^$]*number of nodes \[2\]: ", "0\r"),
        (r"--count  \[LF770\][^$]*number of nodes \[2\]: ", "3\r"),
        (r"name of the fleet \[a\]: ", "A b\r"),
        (r"--name  \[LF118\][^$]*name of the fleet \[a\]: ", "a-b\r"),
    ]
    ran = run_in_terminal("new", "a", folder=tmp_path, typed=answers)
    assert ran.code == 0, ran.out
    written = yaml.safe_load((tmp_path / "a" / "fleet.yaml").read_text())
    assert (written["fleet"], written["region"], written["services"]["chat"]["count"]) == ("a-b", "us-west-2", 3)


def test_an_option_with_an_error_is_reported_before_the_next_question(tmp_path: Path):
    typed = [(r"kind: ", "\r")]
    ran = run_in_terminal("new", "a", "--region", "eu-west-3", folder=tmp_path, typed=typed)
    assert ran.code == 1
    assert "--region  [LF559]" in ran.out
    assert "instance type of the nodes" not in ran.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
def test_ctrl_c_and_ctrl_d_at_a_question_write_nothing(keys: str, tmp_path: Path):
    assert run_in_terminal("new", "a", folder=tmp_path, typed=[("kind: ", keys)]).code == 130
    assert list(tmp_path.iterdir()) == []
