"""The example of a service in another project's stack is about fifteen lines, and synthesizes."""

import json
from pathlib import Path

from examples import strangers_inference


def test_it_is_fifteen_lines_and_a_little() -> None:
    source = Path(strangers_inference.__file__).read_text(encoding="utf-8")
    body = source.split("# --- the fifteen lines ---\n")[1].split("# --- end ---")[0]
    assert 12 <= len(body.strip().splitlines()) <= 16


def test_it_synthesizes_as_a_program(tmp_path: Path) -> None:
    strangers_inference.main(str(tmp_path))
    template = json.loads((tmp_path / "Product.template.json").read_text(encoding="utf-8"))
    services = [body["Properties"] for body in template["Resources"].values() if body["Type"] == "AWS::ECS::Service"]
    assert [each["DesiredCount"] for each in services if "LoadBalancers" in each] == [2]
    (url,) = [output["Value"] for output in template["Outputs"].values() if "Base URL" in output["Description"]]
    assert url == "https://chat.example.com/v1"
    policies = [body for body in template["Resources"].values() if body["Type"] == "AWS::IAM::Policy"]
    assert "secretsmanager:GetSecretValue" in str(policies)
