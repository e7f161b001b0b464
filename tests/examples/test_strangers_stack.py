"""The example of a cluster in another project's stack is ten lines, and synthesizes."""

import json
from pathlib import Path

import aws_cdk as cdk
from aws_cdk.assertions import Template

from examples import strangers_stack


def test_it_is_ten_lines() -> None:
    source = Path(strangers_stack.__file__).read_text(encoding="utf-8")
    body = source.split("# --- the ten lines ---\n")[1].split("# --- end ---")[0]
    assert len(body.strip().splitlines()) == 10


def test_it_synthesizes_as_a_program(tmp_path: Path) -> None:
    strangers_stack.main(str(tmp_path))
    template = json.loads((tmp_path / "Research.template.json").read_text(encoding="utf-8"))
    (cluster,) = [body for body in template["Resources"].values() if body["Type"] == "AWS::SageMaker::Cluster"]
    groups = cluster["Properties"]["InstanceGroups"]
    assert [(group["InstanceType"], group["InstanceCount"]) for group in groups] == [
        ("ml.m5.xlarge", 1),
        ("ml.trn1.32xlarge", 4),
    ]


def test_its_engineers_may_log_in(app: cdk.App) -> None:
    environment = cdk.Environment(account="111122223333", region="us-west-2")
    template = Template.from_stack(strangers_stack.ResearchStack(app, "Research", env=environment))
    assert "ssm:StartSession" in str(template.find_resources("AWS::IAM::Policy"))
    assert any(name.startswith("TrainSsmTarget") for name in template.to_json()["Outputs"])
