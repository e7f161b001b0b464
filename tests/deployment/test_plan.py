"""`llm-fleet plan` next to the launch post's cluster, deployed to a local emulation."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet.cli.plan.stack_templates import synthesize
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.pains.reported import reported


@pytest.fixture(scope="module")
def changed(launch_post: FleetOnAws, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The file of the deployed fleet with two more workers and a service's bucket, and its assembly."""
    folder = tmp_path_factory.mktemp("changed")
    text = LAUNCH_POST.read_text()
    assert text.count("count: 4") == 1
    file = folder / "fleet.yaml"
    file.write_text(text.replace("count: 4", "count: 6"))
    synthesize(file, folder / "cdk.out", account=launch_post.aws.account)
    return file, folder / "cdk.out"


@pytest.fixture
def requested(launch_post: FleetOnAws, monkeypatch: pytest.MonkeyPatch) -> FleetOnAws:
    for name, value in launch_post.aws.environment.items():
        monkeypatch.setenv(name, value)
    return launch_post


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["plan", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_is_deployed_does_not_differ(requested: FleetOnAws, capsys: pytest.CaptureFixture[str]):
    code, plan = planned(capsys, str(LAUNCH_POST), "--assembly", str(requested.assembly))
    assert code == 0
    assert sorted(plan["difference"]["deployed"]) == [
        "launch-post-ml-cluster",
        "launch-post-network",
        "launch-post-storage",
    ]
    assert plan["difference"]["resources"] == []
    assert plan["difference"]["not_deployed"] == []
    assert main(["plan", str(LAUNCH_POST), "--assembly", str(requested.assembly)]) == 0
    out = capsys.readouterr().out
    reported(24, out, "the deployed stacks do not change")
    where = f"account {requested.aws.account}, us-west-2, {requested.aws.environment['AWS_ENDPOINT_URL']}"
    assert f"Difference from the deployed stacks ({where})\n" in out


def test_two_more_workers_and_nothing_else(
    requested: FleetOnAws, changed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    file, assembly = changed
    code, plan = planned(capsys, str(file), "--assembly", str(assembly))
    assert code == 0
    difference = plan["difference"]
    assert difference["hyperpod_groups"] == [
        {
            **{"stack": "launch-post-ml-cluster", "group": "worker-group", "what": "from 4 nodes to 6 nodes"},
            **{"refused": False, "code": None},
        }
    ]
    (cluster,) = [one for one in difference["resources"] if one["type"] == "AWS::SageMaker::Cluster"]
    assert cluster["what"] == "changed"
    assert "InstanceGroups[1].InstanceCount" in cluster["properties"]
    assert {one["what"] for one in difference["resources"]} <= {"changed", "unknown"}
    assert main(["plan", str(file), "--assembly", str(assembly)]) == 0
    assert "launch-post-ml-cluster: worker-group: from 4 nodes to 6 nodes" in capsys.readouterr().out


def test_a_stack_that_is_not_deployed_yet_is_new(
    requested: FleetOnAws, changed: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, assembly = changed
    other = tmp_path / "cdk.out"
    other.mkdir()
    for one in assembly.glob("*.json"):
        text = one.read_text()
        renamed = text.replace("launch-post-storage", "other-storage") if one.name == "manifest.json" else text
        (other / one.name.replace("launch-post-storage", "other-storage")).write_text(renamed)
    code, plan = planned(capsys, str(file), "--assembly", str(other))
    assert code == 0
    assert plan["difference"]["not_deployed"] == ["other-storage"]


def test_expired_credentials_leave_the_rest_of_the_plan(
    requested: FleetOnAws, changed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    requested.aws.refuse_calls("ExpiredToken", service="cloudformation")
    try:
        code, plan = planned(capsys, str(changed[0]), "--assembly", str(changed[1]))
        assert main(["plan", str(changed[0]), "--assembly", str(changed[1])]) == 3
    finally:
        requested.aws.refuse_calls("ExpiredToken", times=0)
    assert code == 3
    assert plan["machines"]["at_most"]["machines"] == 7
    assert plan["difference"]["refused"]["code"] == "LF1002"
    assert plan["difference"]["not_known"] == ["launch-post-network", "launch-post-storage", "launch-post-ml-cluster"]
    text = capsys.readouterr().out
    assert "total cost of all rows" in text
    assert "the AWS credentials have expired" in text
    assert "aws sso login" in text


def test_prices_are_refreshed_kept_and_preferred(
    requested: FleetOnAws, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    requested.aws.report_prices(
        [
            _product("ml.trn1.32xlarge", "us-west-2", "20.0000000000"),
            _product("ml.trn1.32xlarge", "eu-north-1", "99.0000000000"),
            _product("ml.m5.xlarge", "us-west-2", "0.2500000000"),
            _product("ml.m5.xlarge", "us-west-2", "0.0000000000"),
        ]
    )
    words = (str(LAUNCH_POST), "--no-synth", "--no-aws")
    assert main(["plan", *words, "--refresh-prices", "--json"]) == 0
    out, err = capsys.readouterr()
    by_item = {line["item"]: line for line in json.loads(out)["cost"]["lines"]}
    assert by_item["ml.trn1.32xlarge"]["price"] == {
        "usd": 20.0,
        "unit": "hour",
        "region": "us-west-2",
        "read": "2026-11-20",
        "source": "AWS Price List, GetProducts",
        "verified": True,
    }
    assert by_item["ml.m5.xlarge"]["hour_maximum"] == 0.25
    assert "wrote 2 prices" in err
    assert "not refreshed: nat-gateway (network)" in err
    code, again = planned(capsys, *words)
    assert code == 0
    assert {line["item"]: line for line in again["cost"]["lines"]}["ml.trn1.32xlarge"]["hour_maximum"] == 80


def test_a_refused_price_list_leaves_the_prices_that_were_there(
    requested: FleetOnAws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    kept = tmp_path / "prices.json"
    kept.write_text('{"format": 1, "prices": []}\n')
    requested.aws.refuse_calls("AccessDeniedException", service="pricing")
    try:
        words = ["plan", str(LAUNCH_POST), "--no-synth", "--prices", str(kept), "--refresh-prices"]
        assert main(words) == 3
    finally:
        requested.aws.refuse_calls("AccessDeniedException", times=0)
    assert "LF1004" in capsys.readouterr().err
    assert kept.read_text() == '{"format": 1, "prices": []}\n'


def _product(item: str, region: str, usd: str) -> dict[str, Any]:
    return {
        "service_code": "AmazonSageMaker",
        "attributes": {"instanceType": f"{item}-Cluster", "regionCode": region, "component": "Cluster"},
        "unit": "Hrs",
        "usd": usd,
    }
