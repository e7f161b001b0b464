"""The drill from the wheel, in an empty directory of a user: a cluster comes up, loses a node, and leaves nothing."""

import os
import subprocess
import sysconfig
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tools.synth_environment import ROOT

pytestmark = pytest.mark.root
UV = ROOT / ".tools" / "uv" / "bin" / "uv"
USER = 65534
FLEET = """
fleet: small
region: us-west-2
network: {az: usw2-az4}
storage: {fsx: {size: 1200 GiB, throughput: 125 MB/s/TiB}}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 2, partition: trn1}
notebooks:
  lab: {instance: ml.t3.medium}
"""
Drill = Callable[..., str]


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """`llm-fleet` of the wheel, in an environment with the dependencies of this one, and nothing of the checkout."""
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist"], cwd=ROOT, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([UV, "venv", "--quiet", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([UV, "pip", "install", "--quiet", "--no-deps", "--python", python, wheel], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    # Only this folder is added, not what its own .pth files add: the source roots of the checkout.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python.with_name("llm-fleet")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty directory that belongs to another user than root, like that of a user who runs the drill with sudo."""
    folder = tmp_path / "ein Projekt für LLMs"
    folder.mkdir()
    os.chown(folder, USER, USER)
    return folder


@pytest.fixture
def drill(command: Path, project: Path) -> Generator[Drill]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL", "AWS"))}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [command, "local", "drill", *words],
            cwd=project,
            env={**inherited, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    yield run
    run("down", code=0 if (project / ".llm-fleet" / "drill" / "keeper.sock").exists() else 1)


def test_a_cluster_of_the_projects_fleet_comes_up_and_leaves_nothing(drill: Drill, project: Path) -> None:
    assert "fleet.yaml does not exist" in drill(code=1)
    (project / "fleet.yaml").write_text(FLEET)
    (project / "json.py").write_text("raise SystemExit('a file of the project was imported')\n")
    assert "the cluster is up" in drill("up", "--workers", "1")
    assert "run `llm-fleet local drill down`" in drill("up", code=1)
    assert "idle" in drill("check")
    shown = drill("shell", "workers-1", "python3", "-c", "import llm_fleet", code=1)
    assert "No module named 'llm_fleet'" in shown, "a node sees this machine's packages"
    assert "choose one of controller-1, workers-1" in drill("reboot", "workers-2", code=1)
    drill("replace", "workers-1")
    assert "healthy" in drill("report")
    state = project / ".llm-fleet" / "drill"
    (run,) = (state / "runs").iterdir()
    assert (run / "report.html").is_file()
    for folder in (state.parent, state.parent / ".gitignore", state, run):
        assert folder.stat().st_uid == USER, f"the user cannot delete {folder}"
    (cluster,) = (state / "clusters").iterdir()
    drill("down")
    assert not list((state / "clusters").iterdir())
    assert str(project) not in Path("/proc/self/mountinfo").read_bytes().decode().replace("\\040", " ")
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{cluster.name}"))
    assert "no cluster of the drill is up" in drill("check", code=1)
