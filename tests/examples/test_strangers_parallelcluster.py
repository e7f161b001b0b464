"""The example of a ParallelCluster in another project's stack is ten lines, and synthesizes."""

import json
from pathlib import Path

from examples import strangers_parallelcluster


def test_it_is_ten_lines() -> None:
    source = Path(strangers_parallelcluster.__file__).read_text(encoding="utf-8")
    body = source.split("# --- the ten lines ---\n")[1].split("# --- end ---")[0]
    assert len(body.strip().splitlines()) == 10


def test_it_synthesizes_as_a_program(tmp_path: Path) -> None:
    strangers_parallelcluster.main(str(tmp_path))
    template = json.loads((tmp_path / "Research.template.json").read_text(encoding="utf-8"))
    (cluster,) = [body for body in template["Resources"].values() if body["Type"] == "Custom::PclusterCluster"]
    scheduling = cluster["Properties"]["ClusterConfiguration"]["Scheduling"]
    assert [queue["Name"] for queue in scheduling["SlurmQueues"]] == ["trn1", "p5"]
    policies = [body for body in template["Resources"].values() if body["Type"] == "AWS::IAM::Policy"]
    assert "ssm:StartSession" in str(policies)
