"""The first cell of published notebooks with a real pip: with the pin it installs the SDK version that they need."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.lifecycle_scripts.notebook_instance.throwaway_notebook import ThrowawayNotebook

FIRST_CELL = ("install", "sagemaker", "--upgrade")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two versions of the SDK, and a package that requires any of them."""
    folder = tmp_path_factory.mktemp("index")
    for version in ("2.257.7", "3.27.0"):
        _wheel(folder, "sagemaker", version)
    return folder


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment like that of a kernel, without its own pip."""
    folder = tmp_path_factory.mktemp("kernel") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pip itself, as `python -m venv` installs it: distributions keep its wheel in different places."""
    folder = tmp_path_factory.mktemp("pip")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return next(folder.glob("lib/python*/site-packages"))


def test_the_first_cell_installs_the_pinned_sdk_also_over_a_newer_one(
    kernel: Path, index: Path, pip: Path, notebook: ThrowawayNotebook, script: str, tmp_path: Path
):
    _first_cell(kernel, Path(os.devnull), index, pip)
    assert _installed(kernel) == "3.27.0", "without the pin, as a platform may have it"

    configuration = notebook.root / "etc/pip.conf"
    environment = f"export PYTHONPATH={pip} PIP_CONFIG_FILE={configuration}"
    notebook.conda("python3/bin/pip", f'{environment}\nexec {kernel}/bin/python -m pip "$@"')
    started = notebook.start(script)
    assert started.returncode == 0, f"a real pip must use the pins: {started.stderr}"

    own = tmp_path / "own.txt"
    own.write_text("sagemaker>2\n")
    _first_cell(kernel, configuration, index, pip, "--constraint", str(own))
    assert _installed(kernel) == "2.257.7", "with the pin, and constraints of one's own too"


def test_pip_reads_the_file_on_every_linux(pip: Path, tmp_path: Path):
    command = [sys.executable, "-m", "pip", "config", "debug"]
    environment = {**os.environ, "PYTHONPATH": str(pip)}
    reported = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment).stdout
    assert "/etc/pip.conf" in reported.partition("global:")[2].partition("site:")[0]


def _first_cell(kernel: Path, configuration: Path, index: Path, pip: Path, *more: str) -> None:
    """Run it offline with the instance's /etc/pip.conf."""
    environment = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": str(configuration), "PYTHONPATH": str(pip)}
    offline = ("--no-index", "--find-links", str(index), "--disable-pip-version-check", "--no-compile")
    command = [kernel / "bin/python", "-m", "pip", *FIRST_CELL, *offline, *more]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _installed(kernel: Path) -> str:
    (found,) = kernel.glob("lib/python*/site-packages/sagemaker-*.dist-info")
    return found.name.removeprefix("sagemaker-").removesuffix(".dist-info")


def _wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in (*files.items(), (f"{info}/RECORD", f"{record}{info}/RECORD,,\n")):
            wheel.writestr(path, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
