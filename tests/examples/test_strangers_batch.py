"""The example of AWS Batch with llm-fleet's network and file system synthesizes."""

import json
from pathlib import Path

from examples import strangers_batch


def test_it_synthesizes_as_a_program(tmp_path: Path) -> None:
    strangers_batch.main(str(tmp_path))
    resources = json.loads((tmp_path / "Batch.template.json").read_text(encoding="utf-8"))["Resources"]
    by_type = {body["Type"]: body["Properties"] for body in resources.values()}
    machines = by_type["AWS::Batch::ComputeEnvironment"]["ComputeResources"]
    (file_system,) = [name for name, body in resources.items() if body["Type"] == "AWS::FSx::FileSystem"]
    (subnet,) = by_type["AWS::FSx::FileSystem"]["SubnetIds"]
    assert machines["Subnets"] == [subnet], "jobs and file system are in one AZ"
    assert file_system in json.dumps(by_type["AWS::EC2::LaunchTemplate"]["LaunchTemplateData"]["UserData"])
