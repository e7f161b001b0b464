"""`llm-fleet nodes` and `connect` with the launch post's cluster, deployed to a local emulation, as a person uses them.

Sessions are played by programs on PATH: the emulation has no machines.
"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.cli.connect.session_programs import SessionPrograms
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.pains.reported import reported
from tests.terminal import run, run_in_terminal

CLUSTER = "ml-cluster"
FILE = ("-f", str(LAUNCH_POST))
MESSAGE = "Lifecycle scripts did not run successfully"


@pytest.fixture
def sessions(launch_post: FleetOnAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPrograms:
    """Programs that play sessions, and an environment that leads to them and to the emulation."""
    made = SessionPrograms.make(tmp_path / "programs")
    environment = {**launch_post.aws.environment, **made.environment, "HOME": str(tmp_path)}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made.slurm_says([f"{name}|{name}|idle|none" for name in names(launch_post)])
    return made


@pytest.fixture
def broken(launch_post: FleetOnAws) -> Generator[str]:
    """The instance id of a worker that has failed; it recovers."""
    (one,) = launch_post.aws.move_nodes(CLUSTER, "Failure", group="worker-group", index=1, message=MESSAGE)
    yield one
    launch_post.aws.move_nodes(CLUSTER, "Running")


def nodes_of(fleet: FleetOnAws) -> list[dict[str, Any]]:
    return fleet.aws.client("sagemaker").list_cluster_nodes(ClusterName=CLUSTER)["ClusterNodeSummaries"]


def names(fleet: FleetOnAws) -> list[str]:
    return [node["PrivateDnsHostname"] for node in nodes_of(fleet)]


def environment(fleet: FleetOnAws, sessions: SessionPrograms) -> dict[str, str]:
    return {**fleet.aws.environment, **sessions.environment}


def test_both_views_are_side_by_side(
    launch_post: FleetOnAws, sessions: SessionPrograms, capsys: pytest.CaptureFixture[str]
):
    *most, last = names(launch_post)
    idle = [f"{name}|{name}|idle|none" for name in most]
    sessions.slurm_says([*idle, f"{last}|{last}|down*|Not responding"], [f"42|ada|{most[-1]}"])
    assert main(["nodes", *FILE]) == 1
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if last in line)
    assert "Running  down*" in row
    assert "Running in AWS, but down* in Slurm; Not responding" in row
    assert "42 ada" in next(line for line in out.splitlines() if most[-1] in line)
    assert "ml-cluster: 5 nodes: 5 Running" in out
    assert "Slurm: 4 idle, 1 down*" in out
    assert "1 differs between AWS and Slurm" in out
    controller = next(one for one in nodes_of(launch_post) if one["InstanceGroupName"] == "controller-group")
    assert sessions.option("--target").endswith(f"_controller-group-{controller['InstanceId']}")
    assert "--user=root" in (sessions.folder / "sudo").read_text()


def test_a_failed_node_is_reported_with_its_message(
    sessions: SessionPrograms, broken: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["nodes", *FILE, "--status", "failure", "--json", "--no-slurm"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (one["instance_id"], one["message"], one["group"]) == (broken, MESSAGE, "worker-group")
    assert not sessions.calls
    assert main(["connect", broken, *FILE, "--print"]) == 1
    assert f"is Failure: {MESSAGE}" in capsys.readouterr().err


def test_forty_columns_and_a_slurm_that_is_silent(launch_post: FleetOnAws, sessions: SessionPrograms, broken: str):
    (sessions.folder / "slurm-fails").touch()
    ran = run_in_terminal("nodes", *FILE, environment=environment(launch_post, sessions), columns=40)
    assert ran.code == 1
    assert max(map(len, ran.lines)) <= 40
    assert f"  instance: {broken}" in ran.lines
    assert "  aws: Failure" in ran.lines
    assert "Unable to contact slurm controller" in "".join(ran.lines)


def test_a_machine_without_the_plugin_sees_the_nodes_and_why_not_slurm(
    launch_post: FleetOnAws,
    sessions: SessionPrograms,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["nodes", *FILE]) == 3
    out = capsys.readouterr().out
    assert names(launch_post)[0] in out
    assert "Slurm is not in the table: aws is not installed" in out
    assert not sessions.calls
    assert main(["connect", *FILE, "--command", "true"]) == 1
    assert "LF1106" in capsys.readouterr().err
    assert main(["connect", "controller", *FILE, "--print"]) == 0
    assert capsys.readouterr().out.startswith("aws ssm start-session --region us-west-2 --target sagemaker-cluster:")


def test_a_watch_repaints_until_ctrl_c_and_leaves_the_terminal_whole(
    launch_post: FleetOnAws, sessions: SessionPrograms
):
    ran = run_in_terminal(
        "nodes", *FILE, "--watch", environment=environment(launch_post, sessions), interrupt_at="Slurm: 5 idle"
    )
    assert ran.code == 130
    assert "ml-cluster: 5 nodes: 5 Running" in ran.out
    assert ran.raw.rindex("\x1b[?25h") > ran.raw.rindex("\x1b[?25l")
    assert "Traceback" not in ran.out


def test_two_thousand_nodes(launch_post: FleetOnAws, sessions: SessionPrograms):
    added = launch_post.aws.add_nodes(CLUSTER, "worker-group", 1995)
    try:
        ran = run("nodes", *FILE, "--no-slurm", environment=environment(launch_post, sessions))
    finally:
        launch_post.aws.remove_nodes(CLUSTER, added)
    assert ran.code == 0
    assert "ml-cluster: 2000 nodes: 2000 Running" in ran.lines
    assert sum(1 for line in ran.lines if "ml.trn1.32xlarge" in line) == 1999


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nodes", *FILE, "--group", "worker-grup"), 1, "LF1104"),
        (("nodes", *FILE, "--status", "broken"), 1, "LF1105"),
        (("nodes", "gone", "--region", "us-west-2"), 1, "LF1008"),
        (("nodes", *FILE, "--watch", "--json"), 2, "set only one of --watch and --json"),
        (("nodes", *FILE, "--watch", "0.1"), 2, "5 to 3600 seconds"),
        (("connect", "worker-group", *FILE), 1, "LF1102"),
        (("connect", "worker-group-9", *FILE), 1, "group worker-group has 4 nodes"),
        (("connect", *FILE), 2, "a shell requires a terminal"),
        (("connect", *FILE, "--user", "a b"), 2, "a login name has letters"),
        (("connect", *FILE, "--port-forward", "80"), 2, "LF1110"),
        (("connect", *FILE, "--write"), 2, "--write requires --ssh-config"),
    ],
)
def test_bad_input_is_reported(
    sessions: SessionPrograms, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, said: str
):
    del sessions
    assert main([*words, *(("--no-slurm",) if words[0] == "nodes" else ())]) == code
    assert said in capsys.readouterr().err


def test_a_throttled_api_is_waited_for_and_then_reported(
    launch_post: FleetOnAws,
    sessions: SessionPrograms,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    del sessions
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    aws = launch_post.aws
    aws.refuse_calls("ThrottlingException", service="sagemaker", operation="ListClusterNodes", times=1)
    assert main(["nodes", *FILE, "--no-slurm"]) == 0
    aws.refuse_calls("ThrottlingException", service="sagemaker", operation="ListClusterNodes")
    try:
        assert main(["nodes", *FILE, "--no-slurm"]) == 3
        assert "LF1005" in capsys.readouterr().err
    finally:
        aws.refuse_calls("ThrottlingException", times=0)
    aws.refuse_calls("ExpiredTokenException", service="sagemaker", times=1)
    assert main(["connect", *FILE, "--print"]) == 3
    assert "LF1002" in capsys.readouterr().err


def test_without_credentials_nothing_is_guessed():
    ran = run("nodes", CLUSTER, "--region", "us-west-2", "--json")
    assert ran.code == 3
    assert json.loads(ran.out)["problems"][0]["code"] == "LF1001"


def test_a_shell_is_the_persons_own_with_its_ctrl_c(launch_post: FleetOnAws, sessions: SessionPrograms):
    sessions.says("typed")
    ran = run_in_terminal(
        "connect",
        "worker-group-2",
        *FILE,
        "--user",
        "ada",
        environment=environment(launch_post, sessions),
        interrupt_at="# typed",
    )
    assert ran.code == 0
    assert "Ctrl-C on the node" in ran.out
    instance = nodes_of(launch_post)
    workers = sorted(
        (one["LaunchTime"], one["InstanceId"]) for one in instance if one["InstanceGroupName"] == "worker-group"
    )
    assert sessions.option("--target").endswith(f"_worker-group-{workers[1][1]}")
    assert json.loads(sessions.option("--parameters")) == {"command": ["sudo --login --user=ada"]}
    reported(21, ran.out, "worker-group-2 (i-")


def test_a_command_ends_as_it_ended_there(sessions: SessionPrograms, capsys: pytest.CaptureFixture[str]):
    assert main(["connect", "controller", *FILE, "--command", "echo hello; exit 4"]) == 4
    assert capsys.readouterr().out == "hello\n"
    assert main(["connect", "controller", *FILE, "--command", "echo hello", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == ["hello"]
    assert len(sessions.calls) == 2


def test_settings_of_ssh_for_each_node(
    launch_post: FleetOnAws, sessions: SessionPrograms, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    assert main(["connect", *FILE, "--ssh-config", "--write"]) == 0
    out = capsys.readouterr().out
    reported(21, out, "Put this line at the top of ~/.ssh/config, once: Include llm-fleet/*.conf")
    text = (tmp_path / ".ssh/llm-fleet/ml-cluster.conf").read_text()
    assert "Host launch-post-ml-cluster-controller launch-post-ml-cluster-controller-group-1" in text
    assert all(f"launch-post-ml-cluster-{name}\n" in text for name in names(launch_post))
    assert text.count("AWS-StartSSHSession") == 5
    assert not sessions.calls


@pytest.fixture
def parallel(launch_post: FleetOnAws) -> Generator[list[str]]:
    """Instances that ParallelCluster could have started: a head node, then two of a queue."""
    ec2 = launch_post.aws.client("ec2")
    ids: list[str] = []
    for count, kind in ((1, {"node-type": "HeadNode"}), (2, {"node-type": "Compute", "queue-name": "trn1"})):
        tags = {"cluster-name": "post-trn1-0a1b2c3d", **kind}
        specification = {
            "ResourceType": "instance",
            "Tags": [{"Key": f"parallelcluster:{key}", "Value": value} for key, value in tags.items()],
        }
        made = ec2.run_instances(
            ImageId="ami-0123456789abcdef0",
            MinCount=count,
            MaxCount=count,
            InstanceType="m5.large",
            SubnetId=launch_post.subnet_id,
            TagSpecifications=[specification],
        )
        ids += [one["InstanceId"] for one in made["Instances"]]
    yield ids
    ec2.terminate_instances(InstanceIds=ids)


def test_parallelcluster_answers_to_the_same_verbs(
    parallel: list[str],
    launch_post: FleetOnAws,
    sessions: SessionPrograms,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)  # Where no fleet.yaml is.
    ec2 = launch_post.aws.client("ec2")
    found = ec2.describe_instances(InstanceIds=parallel[1:])["Reservations"][0]["Instances"]
    first, second = (one["PrivateIpAddress"] for one in found)
    sessions.slurm_says([f"trn1-st-a-1|{first}|mixed|none", f"trn1-st-a-2|{second}|down*|gone", "trn1-dy-a-1|x|idle~|"])
    place = ("post-trn1", "--kind", "parallelcluster", "--region", "us-west-2")
    assert main(["nodes", *place]) == 1
    out = capsys.readouterr().out
    assert "post-trn1-0a1b2c3d: 3 nodes: 3 running" in out
    assert "running in AWS, but down* in Slurm; gone" in next(one for one in out.splitlines() if parallel[2] in one)
    assert sessions.option("--target") == parallel[0]
    assert main(["connect", "trn1-st-a-2", "-c", *place, "--print"]) == 0
    reported_words = capsys.readouterr().out.split()
    assert reported_words[-1] == found[1]["InstanceId"]
    assert main(["connect", "-c", *place, "--print"]) == 0
    assert capsys.readouterr().out.split()[-1] == parallel[0]
