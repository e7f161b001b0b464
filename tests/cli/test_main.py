"""The command as a whole."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from argparse import Namespace
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from llm_fleet.fleet_file.load import load_fleet
from tests.terminal import run, run_in_terminal
from tools.make_docs_commands import command_line, commands

ROOT = Path(__file__).parents[2]
LAUNCH_POST = str(ROOT / "tests/data/launch-post-cluster.json")
EXAMPLE = str(ROOT / "examples/hyperpod-trn1.yaml")

Capture = pytest.CaptureFixture[str]


def test_validate_reports_a_valid_file(capsys: Capture) -> None:
    assert main(["validate", EXAMPLE]) == 0
    assert capsys.readouterr().out == f"{EXAMPLE}: valid; 1 cluster, 5 nodes in us-west-2\n"


def test_the_version_is_that_of_the_package(capsys: Capture) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"llm-fleet {declared}\n"


def test_a_valid_file_is_reported_as_json(capsys: pytest.CaptureFixture[str]):
    assert main(["validate", "--json", str(EXAMPLE)]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["problems"], reported["has"]["node"]) == ([], 5)


def test_validate_takes_fleet_yaml_by_default(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["validate"]) == 1
    message = f"no fleet file: fleet.yaml does not exist in {tmp_path}\n  remedy:  name the fleet file with -f FILE"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["validate", "check", "plan"])
def test_commands_about_the_whole_file_take_it_as_an_argument_or_option(verb: str, capsys: Capture) -> None:
    assert parsed(verb, "a.yaml").file == parsed(verb, "-f", "a.yaml").file == "a.yaml"
    assert parsed(verb).file is None
    assert main([verb, "a.yaml", "-f", "b.yaml"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


_COMMANDS = {name: parser.epilog or "" for name, _, parser in commands(command_line())}


@pytest.mark.parametrize("name", _COMMANDS)
def test_the_help_of_each_command_ends_with_two_examples_that_parse(name: str) -> None:
    title, *examples = _COMMANDS[name].splitlines()
    assert (title, len(examples)) == ("examples:", 2)
    for example in examples:
        words = shlex.split(example.partition(" > ")[0])
        assert [word for word in words if word in name.split()][: len(name.split())] == name.split()
        assert parsed(*words[1:]).run


def parsed(*words: str) -> Namespace:
    return command_line().parse_args(words)


def test_validate_reports_problems_without_a_traceback(capsys: Capture, tmp_path: Path) -> None:
    bad = tmp_path / "fleet.yaml"
    bad.write_text(Path(EXAMPLE).read_text().replace("ml.trn1.32xlarge", "trn1.32xlarge"))
    assert main(["validate", str(bad)]) == 1
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "clusters.ml-cluster.groups.worker-group.type  [LF505]  line " in reported.err
    assert "`ml.trn1.32xlarge`" in reported.err
    assert "Traceback" not in reported.err


def test_schema_is_printed(capsys: Capture) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == (ROOT / "schema/fleet.schema.json").read_text()


def test_import_writes_a_file_that_loads(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "fleet.yaml"
    assert main(["import", LAUNCH_POST, "--az", "usw2-az4", "-o", str(out)]) == 0
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "fixed: the instance type of worker-group, trn1.32xlarge, is ml.trn1.32xlarge in SageMaker\n" in reported.err
    assert load_fleet(out).region == "us-west-2"
    assert os.listdir(tmp_path) == ["fleet.yaml"]
    umask = os.umask(0)
    os.umask(umask)
    assert out.stat().st_mode & 0o777 == 0o666 & ~umask


def test_import_prints_the_file_alone(capsys: Capture) -> None:
    assert main(["import", LAUNCH_POST, "--region", "us-west-2"]) == 0
    reported = capsys.readouterr()
    assert reported.out.startswith("# Made from launch-post-cluster.json")
    assert "fixed: " not in reported.out


def test_import_overwrites_a_file_only_with_force(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "fleet.yaml"
    out.write_text("mine")
    command = ["import", LAUNCH_POST, "--az", "usw2-az4", "-o", str(out)]
    assert main(command) == 1
    assert "[LF160]" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert out.read_text() != "mine"
    assert os.listdir(tmp_path) == ["fleet.yaml"]


def test_import_to_a_missing_directory(capsys: Capture, tmp_path: Path) -> None:
    assert main(["import", LAUNCH_POST, "--az", "usw2-az4", "-o", str(tmp_path / "no/where.yaml")]) == 1
    assert "[LF161]" in capsys.readouterr().err


def test_import_without_a_file_suggests_one(capsys: Capture, tmp_path: Path) -> None:
    assert main(["import", str(tmp_path / "request.json")]) == 1
    assert "write the path of a request\n" in capsys.readouterr().err
    (tmp_path / "cluster.json").write_text("{}")
    (tmp_path / "fleet.yaml").write_text("")
    assert main(["import", str(tmp_path)]) == 1
    assert f"did you mean `{tmp_path / 'cluster.json'}`?" in capsys.readouterr().err


def test_import_replaces_only_regular_files(capsys: Capture, tmp_path: Path) -> None:
    """`--force -o /dev/null` by root would replace the machine's `/dev/null` by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = ["import", LAUNCH_POST, "--az", "usw2-az4", "--force", "-o"]
    for place, reported in ((pipe, "device, pipe or socket"), (tmp_path, "directory")):
        assert main([*command, str(place)]) == 1
        error = capsys.readouterr().err
        assert "[LF161]" in error
        assert reported in error
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_import_follows_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.yaml", tmp_path / "link.yaml"
    target.write_text("mine")
    link.symlink_to(target)
    assert main(["import", LAUNCH_POST, "--az", "usw2-az4", "--force", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert load_fleet(target).region == "us-west-2"


def test_import_that_fails_writes_nothing_and_reports_what_it_fixed(capsys: Capture, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(Path(LAUNCH_POST).read_text().replace('"InstanceCount": 4', '"InstanceCount": -4'))
    out = tmp_path / "fleet.yaml"
    assert main(["import", str(request), "--az", "usw2-az4", "-o", str(out)]) == 1
    reported = capsys.readouterr().err
    assert "fixed: " in reported
    assert "[LF518]" in reported
    assert not out.exists()


@pytest.mark.parametrize("argv", [[], ["chekc"], ["import"], ["validate", "a", "b"], ["schema", "--nope"]])
def test_wrong_command_line(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    assert "usage: llm-fleet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("vaildate",), "unknown command `vaildate`: did you mean `validate`?"),
        (("jobs", "submitt"), "unknown command `submitt`: did you mean `submit`?"),
        (("check", "--only", "quota"), "unknown value `quota`: did you mean `quotas`?"),
        (("check", "--regoin=us-west-2"), "unknown option `--regoin`: did you mean `--region`?"),
        (("plan", "fleet.yaml", "--no-asw"), "unknown option `--no-asw`: did you mean `--no-aws`?"),
        (("completion", "cmd.exe"), "unknown value `cmd.exe`: choose one of bash, zsh, tcsh"),
        (("schema", "-z"), "unrecognized arguments: -z"),
    ],
)
def test_a_misspelled_word_of_the_command_line_gets_a_suggestion(
    words: tuple[str, ...], reported: str, capsys: Capture
) -> None:
    assert main(words) == 2
    assert reported in " ".join(capsys.readouterr().err.split())


def test_help_exits_with_0(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    assert "import" in capsys.readouterr().out


def test_help_imports_no_slow_modules() -> None:
    code = (
        "import atexit, sys; from llm_fleet.cli.main import main;"
        "slow = {'aws_cdk', 'boto3', 'packaging', 'pydantic', 'pygraphviz', 'rich', 'yaml'};"
        "atexit.register(lambda: print(sorted(slow & set(sys.modules)), file=sys.stderr)); main(['--help'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")


def test_validate_as_a_process_imports_neither_the_cdk_nor_boto3() -> None:
    """`validate` imports neither the CDK nor boto3, which are slow."""
    code = (
        "import sys; from datetime import date; from llm_fleet.cli.main import main;"
        "code = main(sys.argv[1:], today=date(2026, 11, 28));"  # On another day there can be a note about old facts.
        "slow = {'aws_cdk', 'jsii', 'boto3', 'botocore'} & set(sys.modules);"
        "sys.exit(f'imported {slow}' if slow else code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "validate", EXAMPLE], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = subprocess.run(
        [sys.executable, "-m", "llm_fleet.cli.main", "validate", "/no/such/file"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert "this file does not exist" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m llm_fleet.cli.main schema | head -1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout.splitlines() == ["{", "0"]
    assert ran.stderr == ""


def test_a_full_disk_is_reported_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "llm_fleet.cli.main", "completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ran.returncode == 1
    assert ran.stderr == "llm-fleet: cannot write the output: no space left on device\n"


def test_errors_have_no_control_characters_and_no_empty_path(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["nodes", "a", "--kind", "service", "--region", "x\x1b[31m"]) == 3
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "(whole)" not in err
    assert "\n[LF1007]\n" in err


@pytest.mark.parametrize("word", ["--no-slurm", "--no-session"])
def test_status_differs_requires_slurm(word: str, capsys: Capture) -> None:
    assert main(["nodes", word, "--status", "differs", "-f", EXAMPLE]) == 2
    assert "remove --no-slurm" in capsys.readouterr().err


_FLEET = str(Path(__file__).parents[2] / "examples" / "hyperpod-full.yaml")


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("logs", "ml", "--since", "99x"), "neither a time span nor a time"),
        (("events", "ml", "--since", "99x"), "write a time span such as `30m`"),
        (("upgrade", "ml", "--image", "latest"), "or `--latest`"),
        (("connect", "--port-forward", "80"), "e.g. `8888:8888`"),
        (("plan", _FLEET, "--no-synth", "--deployed"), "--no-synth"),
        (("plan", _FLEET, "--no-synth", "--deployed", "--json"), "--no-synth"),
    ],
)
def test_wrong_options_have_the_exit_code_of_usage_errors(
    words: tuple[str, ...], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("usage: ")
    assert reported in " ".join(err.split())


def test_an_error_is_shown_in_a_narrow_terminal(tmp_path: Path):
    ran = run_in_terminal("validate", "missing.yaml", folder=tmp_path, columns=40)
    assert ran.code == 1
    assert "missing.yaml" in ran.out


def test_ctrl_c_ends_the_command_without_a_traceback(tmp_path: Path):
    ran = run_in_terminal(
        "validate",
        "fleet.yaml",
        environment={"PYTHONSTARTUP": "", "PYTHONPATH": str(_sleeping_load(tmp_path))},
        folder=tmp_path,
        interrupt_at="loading",
    )
    assert ran.code == 130
    assert "Traceback" not in ran.out


def _sleeping_load(folder: Path) -> Path:
    """A `sitecustomize` that makes loading of fleet files slow."""
    (folder / "sitecustomize.py").write_text(
        "import time\n"
        "import llm_fleet.fleet_file.load as load\n"
        "def slow(path):\n"
        "    print('loading', flush=True)\n"
        "    time.sleep(60)\n"
        "load.load_fleet = slow\n"
    )
    return folder


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_has_every_command(shell: str):
    ran = run("completion", shell)
    assert ran.code == 0
    for verb in ("validate", "schema", "jobs", "mirror", "completion"):
        assert verb in ran.out


def test_problems_are_json_with_the_option_json(tmp_path: Path):
    ran = run("jobs", "list", "-f", "missing.yaml", "--json", folder=tmp_path)
    assert ran.code == 1
    assert [problem["code"] for problem in json.loads(ran.out)["problems"]] == ["LF101"]
    assert "missing.yaml" in ran.err
