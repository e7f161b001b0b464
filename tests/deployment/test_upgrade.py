"""`llm-fleet upgrade` about the launch post's cluster, in a local emulation: it reports, and changes nothing."""

import json
from collections.abc import Callable

import pytest

from llm_fleet.cli.main import main
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.pains.reported import reported

Upgrade = Callable[..., tuple[int, str, str]]


@pytest.fixture
def upgrade(launch_post: FleetOnAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Upgrade:
    for name, value in launch_post.aws.environment.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["upgrade", "--no-session", "-f", str(LAUNCH_POST), *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_what_is_lost_kept_and_run_again_is_reported(upgrade: Upgrade, launch_post: FleetOnAws) -> None:
    before = launch_post.cluster
    code, out, _ = upgrade()
    assert code == 0
    reported(6, out, "HyperPod retries a node whose scripts fail about four times within 18 minutes, without a message")
    assert "the root volume (every node): /, with /etc" in out
    assert "Slurm accounting (controller): MariaDB on its root volume" in out
    assert "sudo mysqldump" in out
    assert "squeue --noheader --states=RUNNING,PENDING" in out
    assert "aws sagemaker update-cluster-software --cluster-name ml-cluster --region us-west-2\n" in out
    assert launch_post.cluster["InstanceGroups"] == before["InstanceGroups"]


def test_the_controller_goes_first_and_each_group_has_the_steps_of_its_role(upgrade: Upgrade) -> None:
    plan = json.loads(upgrade("--json")[1])
    roles = [group["role"] for group in plan["groups"]]
    assert roles[0] == "Controller"
    assert roles[-1] == "Compute"
    controller, compute = plan["groups"][0]["steps"], plan["groups"][-1]["steps"]
    assert "accounting" in controller
    assert "accounting" not in compute
    assert "mount_lustre" in compute
    assert "accounting_database" not in controller  # a step of OnCreate, and the cluster's hook is OnInitComplete


def test_one_group_to_an_image_of_ones_own(upgrade: Upgrade) -> None:
    _, out, _ = upgrade("--image", "ami-0123456789abcdef0", "--group", "worker-group")
    assert """--instance-groups '[{"InstanceGroupName": "worker-group"}]' --image-id ami-0123456789abcdef0""" in out
    assert "MariaDB" not in out  # the controller stays as it is


def test_a_release_is_requested_for_group_by_group(upgrade: Upgrade) -> None:
    _, out, _ = upgrade("--image", "1.2.3", "--group", "worker-group")
    assert '"ImageReleaseVersion": "1.2.3"' in out
    assert "--image-id" not in out


@pytest.mark.parametrize(
    ("words", "code", "ends"),
    [(("--image", "ubuntu"), "LF1131", 2), (("--group", "worker-gruop"), "LF1130", 1), (("other",), "LF1010", 1)],
)
def test_mistakes_are_reported(upgrade: Upgrade, words: tuple[str, ...], code: str, ends: int) -> None:
    ended, _, err = upgrade(*words)
    assert (ended, code in err) == (ends, True)
