"""The wheel is complete and reproducible; with nothing else, examples synthesize and a fleet deploys locally."""

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
    return _built(tmp_path_factory.mktemp("dist"), "--wheel")


def _built(out: Path, kind: str) -> Path:
    subprocess.run([str(UV), "build", "--quiet", kind, "--out-dir", str(out)], cwd=ROOT, check=True)
    return next(each for each in out.iterdir() if each.suffix in (".whl", ".gz"))


def test_two_builds_are_equal_byte_by_byte_and_their_metadata_is_valid(wheel: Path, tmp_path: Path):
    again = _built(tmp_path / "wheel", "--wheel")
    assert again.read_bytes() == wheel.read_bytes()
    sources = [_built(tmp_path / name, "--sdist") for name in ("one", "two")]
    assert sources[0].read_bytes() == sources[1].read_bytes()
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sources[0])]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_wheel_is_refused_by_python_3_10(wheel: Path, tmp_path: Path):
    """In one line, before anything is installed; the code itself would end in a traceback."""
    words = ["pip", "install", "--dry-run", "--no-deps", "--python-version", "3.10", "--target", str(tmp_path)]
    refused = subprocess.run([str(UV), *words, str(wheel)], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "Python>=3.11" in refused.stderr.replace(" ", "")
    assert (
        subprocess.run([str(UV), *words[:4], *words[6:], str(wheel)], capture_output=True, check=False).returncode == 0
    )


def test_wheel_has_the_library_the_stacks_the_node_scripts_and_the_local_emulation(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"llm_fleet/py.typed", "llm_fleet_stacks/py.typed", "llm_fleet/lifecycle_scripts/fleet.schema.json"} <= names
    assert {"llm_fleet_stacks/cdk.json", "llm_fleet_local/command/cdk_cli/package-lock.json"} <= names
    assert {f"llm_fleet_local/drill/example/{name}" for name in ("hyperpod-drill.yaml", "tiny-llama.json")} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"llm_fleet", "llm_fleet_stacks", "llm_fleet_local"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert {f"llm_fleet/{name}" for name in _tracked("lifecycle_scripts")} == {
        name for name in names if name.startswith("llm_fleet/lifecycle_scr")
    }


def test_wheel_has_the_drill_without_its_scenarios_and_programs_may_be_run(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        packed = {entry.filename: bool(entry.external_attr >> 16 & 0o111) for entry in archive.infolist()}
    folders = {
        "local/llm_fleet_local/drill": "llm_fleet_local/drill",
        "lifecycle_scripts": "llm_fleet/lifecycle_scripts",
    }
    for folder, where in folders.items():
        for name in _tracked(folder):
            if "/scenarios/" in name:
                assert not [each for each in packed if "/scenarios/" in each]
            else:
                runs = os.access(ROOT / name, os.X_OK)
                assert packed[where + name.removeprefix(folder)] == runs, f"{name} has another run bit"


def _tracked(folder: str) -> list[str]:
    command = ["git", "ls-files", folder]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture(scope="module")
def empty_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with nothing but the wheel and what it requires."""
    return _installed(str(wheel), tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def from_wheel(empty_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The template of the example for HyperPod in the empty environment."""
    return _templates("strangers_stack", empty_environment, "-I", folder=tmp_path_factory.mktemp("stranger"))[
        "Research"
    ]


def _installed(requirement: str, folder: Path) -> Path:
    python = folder / "venv" / "bin" / "python"
    subprocess.run([str(UV), "venv", "--quiet", str(folder / "venv")], check=True)
    subprocess.run([str(UV), "pip", "install", "--quiet", "--python", str(python), requirement], check=True)
    _lend_bytecode(next((folder / "venv").glob("lib/python*/site-packages")))
    return python


@pytest.mark.parametrize("example", ["strangers_inference", "strangers_parallelcluster", "strangers_batch"])
def test_constructs_in_a_stack_of_another_project_synthesize_with_the_wheel_alone(
    example: str, empty_environment: Path, tmp_path: Path
):
    assert _templates(example, empty_environment, "-I", folder=tmp_path)


@pytest.fixture(scope="module")
def local_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with nothing but the wheel and what its extra `local` requires."""
    return _installed(f"{wheel}[local]", tmp_path_factory.mktemp("installed"))


_IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages
from llm_fleet_local import drill
for found in walk_packages(drill.__path__, "llm_fleet_local.drill."):
    if not found.name.endswith("__main__"):
        print(import_module(found.name).__name__)
"""


@pytest.mark.cli
def test_every_module_of_the_drill_is_imported_with_the_wheel_alone(local_environment: Path, tmp_path: Path):
    command = [str(local_environment), "-I", "-c", _IMPORT_ALL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "llm_fleet_local.drill.stand_ins.interpreter" in done.stdout.split()
    drill = [str(local_environment.with_name("llm-fleet")), "local", "drill", "check"]
    refused = subprocess.run(drill, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "start one with `llm-fleet local drill up`" in refused.stderr


@pytest.mark.cli
def test_a_fleet_file_is_deployed_locally_with_the_wheel_alone(local_environment: Path, tmp_path: Path):
    """Without a checkout, an app.py, a CDK CLI or a Node on the path, in a folder with blanks and umlauts."""
    python = local_environment
    project = tmp_path / "ein Projekt für LLMs"
    project.mkdir()
    (project / "fleet.yaml").write_text((ROOT / "examples" / "hyperpod-trn1.yaml").read_text())
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL", "AWS"))}
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "COLUMNS": "100"}

    def local(*arguments: str) -> str:
        command = [str(python.with_name("llm-fleet")), "local", *arguments]
        done = subprocess.run(command, cwd=project, env=inherited | home, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        assert "deployed to a local emulation" in local("deploy")
        assert "(no changes)" in local("deploy")
        stacks = {stack["name"]: stack["status"] for stack in json.loads(local("status", "--json"))["stacks"]}
        assert stacks["launch-post-ml-cluster"] == "CREATE_COMPLETE"
        local("destroy", "--unprotect")
        left = {stack["name"] for stack in json.loads(local("status", "--json"))["stacks"]}
        assert left == {"CDKToolkit"}
    finally:
        local("stop")


def test_the_example_synthesizes_in_an_empty_environment(from_wheel: dict[str, Any]):
    assert "AWS::SageMaker::Cluster" in {resource["Type"] for resource in from_wheel["Resources"].values()}


def test_wheel_and_checkout_make_the_same_bundle(from_wheel: dict[str, Any], tmp_path: Path):
    """Otherwise another way of installing would update a cluster."""
    from_checkout = _templates("strangers_stack", Path(sys.executable), folder=tmp_path)["Research"]
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


def _templates(example: str, python: Path, *options: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run a file of examples/ outside the checkout; return its templates by the name of the stack."""
    program = folder / f"{example}.py"
    program.write_text((ROOT / "examples" / program.name).read_text())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    out = folder / "cdk.out"
    environment = {**clean, "CDK_OUTDIR": str(out)}
    subprocess.run([str(python), *options, str(program)], cwd=folder, check=True, env=environment)
    return {path.name.split(".")[0]: json.loads(path.read_text()) for path in out.glob("*.template.json")}


def _bundle(template: dict[str, Any]) -> dict[str, Any]:
    """What is published, under which hash, and by which code."""
    (bundle,) = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "Custom::LlmFleetBundle"]
    (code,) = [r["Properties"]["Code"] for r in template["Resources"].values() if r["Type"] == "AWS::Lambda::Function"]
    return {"bundle": bundle, "code": code}
