"""The import path of the training program, and of the PyTorch that `make .tools/training/.ready` has installed."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm_fleet_training.runs import TINY as TINY
from tests.llm_fleet_training.runs import Run, Starter, write_model, write_tokens
from tests.llm_fleet_training.stand_ins.hub import StandInHub

# Before torch is imported: these tests share their cores.
os.environ["OMP_NUM_THREADS"] = "1"

ROOT = Path(__file__).parents[2]
SCRIPTS = str(ROOT / "lifecycle_scripts")
PACKAGES = str(ROOT / ".tools/training/lib/python3.11/site-packages")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)
if PACKAGES not in sys.path:
    sys.path.append(PACKAGES)  # At the end: the project's own packages take precedence.

WHY = "PyTorch is missing: make .tools/training/.ready"


@pytest.fixture
def torch() -> object:
    """A test that takes this is skipped without PyTorch."""
    return pytest.importorskip("torch", reason=WHY)


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """A folder with the config.json of the tiny model."""
    return write_model(tmp_path / "model")


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """Starts the program; without PyTorch the test is skipped."""
    if not (Path(PACKAGES) / "torch").is_dir():
        pytest.skip(WHY)
    found = Starter(tmp_path_factory.mktemp("starter") / "log")
    yield found
    found.close()


@pytest.fixture
def run(tmp_path: Path, starter: Starter) -> Run:
    """A run that was never started."""
    write_model(tmp_path / "run/model")
    write_tokens(tmp_path / "run/tokens")
    return Run(tmp_path / "run", starter)


@pytest.fixture
def hub(torch: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """A Hub on loopback, set in `HF_ENDPOINT`; no token of this machine is sent to it."""
    from tests.llm_fleet_training.tiny_model import model_files

    found = StandInHub(files=dict(model_files()))
    found.start()
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "LLM_FLEET_HUB_TOKEN_SECRET", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", found.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "hf" / "token"))
    yield found
    found.stop()
