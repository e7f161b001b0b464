"""The wheel carries what it must, installs into an empty environment, and the ten-line example synthesizes there."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The template that the example synthesizes with nothing but the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("stranger")
    python = folder / "venv" / "bin" / "python"
    subprocess.run([str(UV), "venv", "--quiet", str(folder / "venv")], check=True)
    subprocess.run([str(UV), "pip", "install", "--quiet", "--python", str(python), str(wheel)], check=True)
    _lend_bytecode(next((folder / "venv").glob("lib/python*/site-packages")))
    return _template_of_the_example(python, "-I", folder=folder)


def test_the_example_synthesizes_in_an_empty_environment(from_wheel: dict[str, Any]):
    assert "AWS::SageMaker::Cluster" in {resource["Type"] for resource in from_wheel["Resources"].values()}


def test_wheel_and_checkout_make_the_same_bundle(from_wheel: dict[str, Any], tmp_path: Path):
    """Otherwise another way of installing would update a cluster."""
    from_checkout = _template_of_the_example(Path(sys.executable), folder=tmp_path)
    assert _bundle(from_wheel) == _bundle(from_checkout)


def _lend_bytecode(to: Path) -> None:
    """Link what is compiled of our own packages into `to`: to compile the CDK takes longer than to synthesize.

    Python still compiles what is of another version here: bytecode names the time and size of its source.
    """
    ours = Path(sysconfig.get_path("purelib"))
    for root, _, _ in os.walk(to / "aws_cdk"):
        cache = Path(root, "__pycache__")
        compiled = sorted((ours / cache.relative_to(to)).glob("*.pyc"))
        if compiled and not cache.exists():
            cache.mkdir()
            for file in compiled:
                (cache / file.name).symlink_to(file)


def _template_of_the_example(python: Path, *options: str, folder: Path) -> dict[str, Any]:
    example = folder / "strangers_stack.py"
    example.write_text((ROOT / "examples" / "strangers_stack.py").read_text())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    out = folder / "cdk.out"
    environment = {**clean, "CDK_OUTDIR": str(out)}
    subprocess.run([str(python), *options, str(example)], cwd=folder, check=True, env=environment)
    return json.loads((out / "Research.template.json").read_text())


def _bundle(template: dict[str, Any]) -> dict[str, Any]:
    """What is published, under which hash, and by which code."""
    (bundle,) = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "Custom::LlmFleetBundle"]
    (code,) = [r["Properties"]["Code"] for r in template["Resources"].values() if r["Type"] == "AWS::Lambda::Function"]
    return {"bundle": bundle, "code": code}
