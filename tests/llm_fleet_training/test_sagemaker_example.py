"""The script of the example of a SageMaker job: it trains, prints the job's metrics, and resumes."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
import yaml

from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples" / "sagemaker-training.yaml"
SCRIPT = ROOT / "examples" / "sagemaker-training" / "train.py"


def train(monkeypatch: pytest.MonkeyPatch, folder: Path, steps: int) -> None:
    """Run the script as SageMaker's toolkit does, with other paths."""
    monkeypatch.setenv("SM_CHANNEL_TRAIN", str(folder / "data"))
    monkeypatch.setenv("SM_MODEL_DIR", str(folder))
    monkeypatch.setattr("signal.signal", print)  # this process keeps its own handler
    small = ["--batch", "4", "--length", "16", "--width", "16", "--save_every", "10", "--log_every", "5"]
    monkeypatch.setattr(
        sys, "argv", ["train.py", "--steps", str(steps), "--checkpoints", str(folder / "checkpoints"), *small]
    )
    found = importlib.util.spec_from_file_location("example_train", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.main()


def test_it_trains_prints_metrics_and_resumes(
    torch: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "text.txt").write_text("to be or not to be " * 200)
    train(monkeypatch, tmp_path, 10)
    first = capsys.readouterr().out
    metrics = yaml.safe_load(EXAMPLE.read_text())["training_jobs"]["text"]["metrics"]
    expressions = [one if isinstance(one, str) else one["regex"] for one in metrics.values()]
    for expression in expressions:
        assert len(re.findall(expression, first)) == 2, expression
    train(monkeypatch, tmp_path, 20)
    second = capsys.readouterr().out
    assert "resumed from step-00000010.pt" in second
    assert "step=5 " not in second
    losses = [float(loss) for loss in re.findall(r"loss=([0-9.]+)", first + second)]
    assert losses[-1] < losses[0]
    assert (tmp_path / "model.pt").exists()
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "step-00000010.pt",
        "step-00000020.pt",
    ]
