"""A new project of each kind works: its app synthesizes, its own tests pass, and it deploys to the AWS emulator."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from llm_fleet.cli.new.kinds import KINDS

PLACE = "ein Ordner für Flotten"
OTHER_TYPES = {"hyperpod": "ml.g5.4xlarge", "parallelcluster": "g5.4xlarge", "inference": "inf2.8xlarge"}
STACKS = {
    "hyperpod": {"network", "storage", "train"},
    "parallelcluster": {"network", "storage", "train"},
    "inference": {"network", "storage", "chat"},
}


def in_project(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in `folder`, with an environment that has neither AWS settings nor pytest's variables."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "CDK_", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "LLM_FLEET"))
    }
    command = [sys.executable, *words]
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "CDK_VALIDATION": "false", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_its_app_synthesizes_and_its_own_tests_pass(kind: str, tmp_path: Path):
    project = tmp_path / PLACE / "größte"
    assert main(["new", str(project), "--kind", kind, "--name", "largest", "--yes"]) == 0
    out = project / "cdk.out"
    done = in_project(project, "-O", "app.py", CDK_OUTDIR=str(out))
    assert done.returncode == 0, done.stderr
    assert {path.name.split(".")[0] for path in out.glob("*.template.json")} == {f"largest-{n}" for n in STACKS[kind]}

    done = in_project(project, "-m", "pytest", "-q")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout

    file = project / "fleet.yaml"
    file.write_text(file.read_text().replace(KINDS[kind].instance_type, OTHER_TYPES[kind]))
    done = in_project(project, "-m", "pytest", "-q", "tests/test_fleet.py")
    assert done.returncode == 1, "its test does not notice another instance type"
    assert OTHER_TYPES[kind] in done.stdout


def test_own_stacks_and_another_fleet_file_next_to_it(tmp_path: Path):
    """Two fleets in one repository, the second also with a stack of the user's own."""
    first, second = tmp_path / "a", tmp_path / "b"
    assert main(["new", str(first), "--yes"]) == main(["new", str(second), "--kind", "inference", "--yes"]) == 0
    app = second / "app.py"
    comment = next(line for line in app.read_text().splitlines() if line.startswith("# Add your own stacks"))
    app.write_text(app.read_text().replace(comment, 'import aws_cdk as cdk\n\ncdk.Stack(app, "own")'))
    done = in_project(second, "-O", "app.py", CDK_OUTDIR=str(second / "cdk.out"))
    assert done.returncode == 0, done.stderr
    names = {path.name.split(".")[0] for path in (second / "cdk.out").glob("*.template.json")}
    assert names == {"b-network", "b-storage", "b-chat", "own"}

    other = str(first / "fleet.yaml")
    done = in_project(second, "-O", "app.py", CDK_OUTDIR=str(second / "other"), LLM_FLEET_FILE=other)
    assert done.returncode == 0, done.stderr
    assert (second / "other" / "a-train.template.json").is_file()

    (second / "fleet.yaml").write_text("fleet: b\n")
    done = in_project(second, "-O", "app.py", CDK_OUTDIR=str(second / "none"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "problems in fleet.yaml:" in done.stderr
    assert "`region` is required" in done.stderr


@pytest.mark.cli
def test_it_deploys_to_the_aws_emulator_without_an_activated_environment(tmp_path: Path):
    """Without git, and behind a proxy. `python3` in its cdk.json is the Python of `llm-fleet`, not the system's."""
    project = tmp_path / PLACE
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "env", "uname"):
        (programs / name).symlink_to(str(shutil.which(name)))
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    outside = {**proxy, "PATH": str(programs), "NO_PROXY": ""}
    assert main(["new", str(project), "--name", "local", "--yes"]) == 0
    command = ("-m", "llm_fleet.cli.main", "local")
    try:
        done = in_project(project, *command, "deploy", **outside)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "local-train" in done.stdout
        assert "deployed to a local emulation" in done.stdout
    finally:
        in_project(project, *command, "stop", **outside)
