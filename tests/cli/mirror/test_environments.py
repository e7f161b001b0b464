"""Whole Python environments in the lock, resolved by the real uv from indexes on this machine."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.main import main
from llm_fleet.cli.mirror import wheels as requested_wheels
from tests.cli.mirror.conftest import Web, publish, requirements, wheel

SYSTEM = "ubuntu-22.04-amd64"
ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "lock.json"


def command(out: Path, *arguments: str, system: str = SYSTEM) -> list[str]:
    return ["mirror", "lock", "--system", system, "--python", "3.11", *arguments, "-o", str(out), "--force"]


def locked(out: Path) -> dict[str, dict[str, Any]]:
    return {file["name"]: file for file in json.loads(out.read_text())["files"]}


def test_requirements_are_locked_with_their_dependencies(vendor: Web, out: Path, tmp_path: Path) -> None:
    index = publish(
        vendor,
        "simple",
        wheel("App", "1.0", "Base_Lib[fast]>=1", "win ; sys_platform == 'win32'", "old ; python_version < '3.8'"),
        wheel("base-lib", "1.5", "speed ; extra == 'fast'", "slow ; extra == 'other'"),
        wheel("base-lib", "2.0", tag="cp312-cp312-manylinux2014_x86_64"),
        wheel("speed", "3.0", tag="cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64"),
        wheel("speed", "4.0", tag="cp311-cp311-manylinux_2_99_x86_64"),
    )
    assert main(command(out, "--requirements", requirements(tmp_path, "App", "# more", ""), "--index", index)) == 0
    files = locked(out)
    assert {name: file["version"] for name, file in files.items()} == {"app": "1.0", "base-lib": "1.5", "speed": "3.0"}
    assert files["app"]["requires"] == ["base-lib"]
    assert files["base-lib"]["requires"] == ["speed"]
    assert (files["speed"]["system"], files["app"]["system"]) == (SYSTEM, None)
    assert all(file["sha256"] and file["size"] > 100 for file in files.values())


def test_a_package_of_the_same_name_on_another_index_is_not_used(
    vendor: Web, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuron = publish(
        vendor,
        "neuron",
        wheel("neuronx-cc", "2.23.6484.0+3b612583", tag="cp311-cp311-linux_x86_64"),
        wheel("torch-neuronx", "2.8.0.2.12.22436+6ff5d9a4", "libneuronxla==2.2.15515.*", "numpy"),
        wheel("libneuronxla", "2.2.15515.0+50c26cbd"),
        wheel("neuronx-distributed", "0.17.26814+8a9dbbd0", "torch-neuronx"),
        wheel("numpy", "0.1"),
    )
    pypi = publish(
        vendor,
        "pypi",
        *(wheel(name, "999.0") for name in ("neuronx-cc", "torch-neuronx", "neuronx-distributed")),
        wheel("libneuronxla", "2.2.15515.99"),
        wheel("transformers", "4.48.0", "numpy"),
        wheel("numpy", "1.26.4"),
    )
    monkeypatch.setattr(requested_wheels, "neuron_index", lambda: neuron)
    assert main(command(out, "--environment", "nxd", "--neuron", "2.28.1", "--index", pypi)) == 0
    files = locked(out)
    ours = {name for name, file in files.items() if "/files/neuron/" in file["url"]}
    assert ours == {"neuronx-cc", "torch-neuronx", "libneuronxla", "neuronx-distributed"}
    assert files["torch-neuronx"]["version"] == "2.8.0.2.12.22436+6ff5d9a4"
    assert files["torch-neuronx"]["requires"] == ["libneuronxla", "numpy"]
    assert files["numpy"]["version"] == "1.26.4"
    assert not any(path.startswith("/pypi/torch-neuronx") for path in vendor.requested), "the name is not sent"


def test_only_its_own_index_is_used_for_a_package(vendor: Web, out: Path, tmp_path: Path) -> None:
    cpu = publish(vendor, "cpu", wheel("torch", "2.13.0+cpu", "sympy"), wheel("sympy", "9.9"))
    index = publish(vendor, "simple", wheel("sympy", "1.14.0"), wheel("torch", "2.13.0"))
    given = ("--requirements", requirements(tmp_path, "torch"), "--index", index, "--index-of", "torch", cpu)
    assert main(command(out, *given)) == 0
    assert {name: file["version"] for name, file in locked(out).items()} == {"torch": "2.13.0+cpu", "sympy": "1.14.0"}


def test_markers_are_evaluated_for_the_nodes_python(vendor: Web, out: Path, tmp_path: Path) -> None:
    index = publish(
        vendor,
        "simple",
        wheel("app", "1.0", "old ; python_version < '3.10'", "arm ; platform_machine == 'aarch64'"),
        wheel("old", "1", tag="cp39-cp39-manylinux_2_17_aarch64"),
        wheel("arm", "1"),
    )
    given = ("--requirements", requirements(tmp_path, "app"), "--index", index, "--python", "3.9")
    assert main(command(out, *given, system="amzn-2023-aarch64")) == 0
    assert locked(out)["app"]["requires"] == ["arm", "old"]


def test_a_file_by_its_url_is_locked_with_its_dependencies(vendor: Web, out: Path, tmp_path: Path) -> None:
    index = publish(vendor, "simple", wheel("base", "1"))
    name, content = wheel("own_part", "1.2", "base")
    publish(vendor, "elsewhere", (name, content))
    address = f"{vendor.url}/files/elsewhere/{name}"
    line = f"own-part @ {address}#sha256={hashlib.sha256(content).hexdigest()}"
    assert main(command(out, "--requirements", requirements(tmp_path, line), "--index", index)) == 0
    own = locked(out)["own-part"]
    assert (own["url"], own["version"], own["size"]) == (address, "1.2", len(content))
    assert own["requires"] == ["base"]


@pytest.mark.parametrize("system", sorted(load("downloads")["glibc"]))
def test_wheels_are_resolved_for_each_known_system(vendor: Web, out: Path, tmp_path: Path, system: str) -> None:
    index = publish(vendor, "simple", wheel("app", "1", tag="cp38-abi3-manylinux_2_17_x86_64"))
    given = ("--requirements", requirements(tmp_path, "app"), "--index", index)
    assert main(command(out, *given, system=f"{system}-x86_64")) == 0
    assert locked(out)["app"]["system"] == f"{system}-x86_64"


def test_settings_of_this_machine_cannot_add_an_index(
    vendor: Web, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = publish(vendor, "other", wheel("app", "9"))
    index = publish(vendor, "simple", wheel("app", "1"))
    (tmp_path / "uv.toml").write_text(f'[[index]]\nurl = "{other}"\n')
    for name, value in (("UV_INDEX", other), ("UV_CONFIG_FILE", str(tmp_path / "uv.toml")), ("PIP_INDEX_URL", other)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert main(command(out, "--requirements", requirements(tmp_path, "app"), "--index", index)) == 0
    assert locked(out)["app"]["version"] == "1"
    assert not any(path.startswith("/other") for path in vendor.requested)


def test_missing_uv_is_reported(
    vendor: Web, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    index = publish(vendor, "simple", wheel("app", "1"))
    assert main(command(out, "--requirements", requirements(tmp_path, "app"), "--index", index)) == 1
    assert "pip install 'llm-fleet[mirror]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["missing"], "missing was not found"),
        (["app==2"], "there is no version of app==2"),
        (["unvouched"], "there are no versions of unvouched"),
        (["app", "base-lib<1"], "app depend on base-lib>=1"),
        (["too-new"], "no wheels with a matching platform tag"),
        (["no requirement!"], "parse requirement"),
    ],
    ids=lambda value: str(value),
)
def test_unresolvable_requirements_are_reported_with_the_cause(
    vendor: Web, out: Path, tmp_path: Path, capsys: Capture, lines: list[str], said: str
) -> None:
    index = publish(
        vendor, "simple", wheel("app", "1.0", "base-lib>=1"), wheel("base-lib", "1.5"), wheel("base-lib", "0.5")
    )
    publish(vendor, "simple", wheel("unvouched", "1"), checksum=False)
    publish(vendor, "simple", wheel("too-new", "1", tag="cp311-cp311-manylinux_2_39_x86_64"))
    assert main(command(out, "--requirements", requirements(tmp_path, *lines), "--index", index)) == 1
    text = capsys.readouterr().err
    assert "[LF465]" in text
    assert said in text
    assert "cannot resolve the requirements for Python 3.11 on ubuntu-22.04-amd64: " in text
    assert "Traceback" not in text
    assert not out.exists()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["--extra-index-url https://evil.example/simple", "a"], "could add any index"),
        (["-r other.txt"], "could add any index"),
        (["a @ https://x.example/a-1-py3-none-any.whl"], "needs a checksum"),
        (["a @ https://x.example/a-1-py3-none-any.whl#sha256=abc"], "needs a checksum"),
    ],
)
def test_requirements_that_bypass_the_indexes_are_rejected(
    out: Path, tmp_path: Path, capsys: Capture, lines: list[str], said: str
) -> None:
    assert main(command(out, "--requirements", requirements(tmp_path, *lines))) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--environment", "nxdd", "--neuron", "2.28.1"), "LF806"),
        (("--environment", "nxd", "--neuron", "2.30.0"), "LF808"),
        (("--environment", "nxd"), "LF808"),
        (("--environment", "torchneuron", "--neuron", "2.33.0", "--python", "3.10"), "LF809"),
        (("--environment", "nxd", "--neuron", "2.28.1", "--python", "three"), "LF465"),
        (("--requirements", "nowhere.txt"), "LF465"),
    ],
)
def test_wrong_requests_are_reported_before_a_download(
    out: Path, capsys: Capture, arguments: tuple[str, ...], code: str
) -> None:
    assert main(["mirror", "lock", "--system", SYSTEM, "--python", "3.11", *arguments, "-o", str(out)]) == 1
    assert f"[{code}]" in capsys.readouterr().err
    assert not out.exists()


def test_wheels_with_stable_abis_and_older_c_libraries_are_accepted(vendor: Web, out: Path, capsys: Capture) -> None:
    index = publish(
        vendor,
        "simple",
        wheel("hf-xet", "1.8.0", tag="cp38-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64"),
        wheel("hf-xet", "1.8.0", tag="cp38-abi3-musllinux_1_2_x86_64"),
        wheel("both", "1", tag="py3-none-any"),
        wheel("both", "1", tag="cp311-cp311-manylinux_2_17_x86_64"),
        wheel("fresh", "1", tag="cp311-cp311-manylinux_2_35_x86_64"),
        wheel("old", "1", tag="cp311-cp311-manylinux2010_x86_64"),
    )
    given = ("--python", "3.11", "--index", index, "-o", str(out), "--force")
    wheels = ("hf-xet==1.8.0", "both==1", "fresh==1", "old==1")
    assert main(["mirror", "lock", "--system", SYSTEM, "--wheels", *wheels, *given]) == 0
    names = {name: file["url"].rsplit("/", 1)[1] for name, file in locked(out).items()}
    assert names["hf-xet"] == "hf_xet-1.8.0-cp38-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    assert names["both"] == "both-1-cp311-cp311-manylinux_2_17_x86_64.whl", "the one that fits best"
    for system, code in (("amzn-2023-x86_64", "LF465"), ("arch-2026.11-x86_64", "LF462")):
        assert main(["mirror", "lock", "--system", system, "--wheels", "fresh==1", *given]) == 1
        assert f"[{code}]" in capsys.readouterr().err


def test_the_lock_file_of_the_examples_matches_its_requirements() -> None:
    files = locked(ROOT / "examples/training-cpu.lock.json")
    lines = [line for line in (ROOT / "examples/training-cpu.txt").read_text().splitlines() if "==" in line]
    assert {f"{name}=={files[name]['version']}" for name in files} >= set(lines)
    needed = {name for line in lines for name in [line.partition("==")[0]]}
    while more := {each for name in needed for each in files[name]["requires"]} - needed:
        needed |= more
    assert needed == set(files), "no unused file"
