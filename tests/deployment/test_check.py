"""`llm-fleet check` of a fleet that is deployed already: what it has itself is not in its way."""

import json
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws

_JUST_ENOUGH = {
    "sagemaker": {
        "ml.m5.xlarge for cluster usage": 1,
        "ml.trn1.32xlarge for cluster usage": 4,
        "Total number of instances allowed across SageMaker HyperPod clusters": 5,
        "Maximum number instances allowed per SageMaker HyperPod cluster": 5,
    },
    "ec2": {"EC2-VPC Elastic IPs": 1},
    "vpc": {"VPCs per Region": 2, "Internet gateways per Region": 1, "NAT gateways per Availability Zone": 1},
    "fsx": {"Lustre Persistent_2 storage capacity": 4800},
}
"""What the fleet takes, to the last; the second VPC is the account's default one."""


@pytest.fixture
def environment(launch_post: FleetOnAws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in launch_post.aws.environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
def test_a_deployed_fleet_is_not_in_its_own_way(launch_post: FleetOnAws, capsys: pytest.CaptureFixture[str]):
    launch_post.aws.give_account(quotas=_JUST_ENOUGH)
    code = main(["check", str(LAUNCH_POST), "--json"])
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["checks"]
    # The AWS emulator does not return the release of an image.
    assert [row["what"] for row in rows if row["verdict"] != "good"] == ["image of cluster ml-cluster"]
    assert code == 0, "no call failed"
    assert "4,800 GiB required, quota 4,800 GiB, 0 GiB in use" in [row["detail"] for row in rows]


@pytest.mark.usefixtures("environment")
def test_a_second_fleet_is_reported_what_the_first_has(
    launch_post: FleetOnAws, capsys: pytest.CaptureFixture[str], tmp_path: Any
):
    launch_post.aws.give_account(quotas=_JUST_ENOUGH)
    second = tmp_path / "second.yaml"
    text = LAUNCH_POST.read_text(encoding="utf-8").replace("fleet: launch-post", "fleet: second")
    second.write_text(text.replace("ml-cluster:", "ml-second:"), encoding="utf-8")
    assert main(["check", str(second), "--only", "quotas"]) == 1
    reported = capsys.readouterr().out
    for need, quota in (
        ("4 instances", "ml.trn1.32xlarge for cluster usage`"),
        ("5 instances", "Total number of instances allowed across"),
        ("4,800 GiB", "Lustre Persistent_2 storage capacity`"),
    ):
        assert f"requires {need}, and {need} are already in use; the quota `{quota}" in reported
    for thing in ("EC2-VPC Elastic IPs", "Internet gateways per Region", "NAT gateways per Availability Zone"):
        assert f"network requires 1, and 1 is already in use; the quota `{thing}`" in reported
    assert "network requires 1, and 2 are already in use; the quota `VPCs per Region`" in reported
