"""The synthesis, as a process of its own; the fleet is small, and its stacks hold nothing."""

import json
import sys
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from llm_fleet.cli.plan import stack_templates as module
from llm_fleet.cli.plan.stack_templates import synthesized_stacks
from llm_fleet.rules.day_two.plan_codes import PlanCode
from llm_fleet.rules.problem import FleetError
from llm_fleet_stacks.app_context import app_context
from tools.synth_environment import ROOT

BUCKET = "fleet: tiny\nregion: us-west-2\nnetwork: none\nstorage: {buckets: {data: {}}}\n"


def test_a_fleet_is_synthesized_and_tells_what_destroy_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "fleet.yaml"
    file.write_text(BUCKET)
    assert main(["plan", str(file), "--no-aws", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    buckets = [one for one in told["retained"] if one["type"] == "AWS::S3::Bucket"]
    assert {one["stack"] for one in buckets} == {"tiny-storage"}
    assert buckets[0]["where"].startswith("tiny-storage/")
    assert "difference" not in told


def test_no_credentials_leave_the_rest_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assembly = tmp_path / "cdk.out"
    assembly.mkdir()
    (assembly / "t.json").write_text('{"Resources": {}}')
    stack = {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-west-2"}
    manifest = {"artifacts": {"tiny-storage": {**stack, "properties": {"templateFile": "t.json"}}}}
    (assembly / "manifest.json").write_text(json.dumps(manifest))
    file = tmp_path / "fleet.yaml"
    file.write_text(BUCKET)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    words = ["plan", str(file), "--assembly", str(assembly)]
    assert main([*words, "--deployed"]) == 3
    out = capsys.readouterr().out
    assert "not known of tiny-storage: there are no credentials to ask AWS with" in out
    assert "aws configure sso" in out
    assert main(words) == 0, "without credentials and without --deployed nobody is asked"
    assert "not compared with what is deployed: there are no credentials" in capsys.readouterr().err
    assert main([*words, "--no-aws"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Traceback …\nRuntimeError: there is no such role", PlanCode.SYNTH),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'node'", PlanCode.NO_CDK),
    ],
)
def test_why_a_synthesis_fails_is_told(said: str, code: PlanCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "fails.py"
    script.write_text(f"import sys\nsys.exit({said!r})\n")
    monkeypatch.setattr(module, "_MODULE", "fails")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(FleetError) as error:
        module.synthesize(tmp_path / "fleet.yaml", tmp_path / "out")
    (problem,) = error.value.problems
    assert problem.code is code
    assert said.splitlines()[-1] in problem.message
    assert "--no-synth" in problem.remedy


def test_a_torn_manifest_and_one_without_stacks(tmp_path: Path):
    for text in ("{", '{"artifacts": {}}', '{"artifacts": {"x": {"type": "aws:cloudformation:stack"}}}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(FleetError, match="LF1080"):
            synthesized_stacks(tmp_path)


def test_the_context_is_that_of_the_nearest_cdk_json(tmp_path: Path):
    (tmp_path / "cdk.json").write_text('{"context": {"a": 1, "b": 1}}')
    (tmp_path / "cdk.context.json").write_text('{"b": 2}')
    inner = tmp_path / "fleets" / "one"
    inner.mkdir(parents=True)
    assert app_context(inner) == {"a": 1, "b": 2}
    assert app_context(ROOT / "examples") == json.loads((ROOT / "cdk.json").read_text())["context"]
    (tmp_path / "cdk.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        app_context(inner)


def test_a_missing_cdk_json_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    beside, here = tmp_path / "fleets", tmp_path / "here"
    beside.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    assert module.without_flags(beside / "fleet.yaml") == f"{beside} or {here}"
    (here / "cdk.json").write_text("{}")
    assert module.without_flags(beside / "fleet.yaml") is None
    assert module.without_flags(Path("fleet.yaml")) is None
