"""The wheel carries what it must, installs into an empty environment, and the ten-line example synthesizes there."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.synth_environment import ROOT

UV = ROOT / ".tools" / "uv" / "bin" / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([str(UV), "build", "--quiet", "--wheel", "--out-dir", str(out)], cwd=ROOT, check=True)
    return next(out.glob("*.whl"))


def test_wheel_holds_the_library_the_stacks_and_the_node_scripts_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry = archive.getinfo("llm_fleet/lifecycle_scripts/on_init_complete.sh")
    assert {"llm_fleet/py.typed", "llm_fleet_stacks/py.typed", "llm_fleet/lifecycle_scripts/fleet.schema.json"} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"llm_fleet", "llm_fleet_stacks"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    tracked = subprocess.run(
        ["git", "ls-files", "lifecycle_scripts"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert {f"llm_fleet/{name}" for name in tracked} == {n for n in names if n.startswith("llm_fleet/lifecycle_scr")}
    assert entry.external_attr >> 16 & 0o111, "the entry script has lost its run bit"


def test_the_example_synthesizes_in_an_empty_environment(wheel: Path, tmp_path: Path):
    environment = tmp_path / "venv"
    python = environment / "bin" / "python"
    subprocess.run([str(UV), "venv", "--quiet", str(environment)], check=True)
    subprocess.run([str(UV), "pip", "install", "--quiet", "--python", str(python), str(wheel)], check=True)
    example = tmp_path / "strangers_stack.py"
    example.write_text((ROOT / "examples" / "strangers_stack.py").read_text())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    out = tmp_path / "cdk.out"
    subprocess.run([str(python), "-I", str(example)], cwd=tmp_path, check=True, env={**clean, "CDK_OUTDIR": str(out)})
    assert "AWS::SageMaker::Cluster" in "".join(path.read_text() for path in out.glob("*.template.json"))
