"""The example of SageMaker resources in another project's stack is about thirty lines, and synthesizes."""

import json
from collections import Counter
from pathlib import Path

from examples import strangers_sagemaker


def test_it_is_thirty_lines_at_most() -> None:
    source = Path(strangers_sagemaker.__file__).read_text(encoding="utf-8")
    body = source.split("# --- the thirty lines ---\n")[1].split("# --- end ---")[0]
    assert 20 <= len(body.strip().splitlines()) <= 30


def test_it_synthesizes_as_a_program(tmp_path: Path) -> None:
    strangers_sagemaker.main(str(tmp_path))
    template = json.loads((tmp_path / "Lab.template.json").read_text(encoding="utf-8"))
    made = Counter(body["Type"] for body in template["Resources"].values())
    pieces = ("SageMaker::NotebookInstance", "SageMaker::Endpoint", "StepFunctions::StateMachine", "DynamoDB::Table")
    assert [made[f"AWS::{piece}"] for piece in pieces] == [1, 1, 1, 1]
    (machine,) = [body for body in template["Resources"].values() if body["Type"] == "AWS::StepFunctions::StateMachine"]
    assert "llm-fleet:watch" in str(machine["Properties"])
