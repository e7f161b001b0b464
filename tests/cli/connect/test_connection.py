"""Lookup of a node by any of its names, sessions, and ssh."""

import json
import shutil
import stat
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from llm_fleet.cli import session as session_module
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.cli.connect import this_machine as programs_module
from llm_fleet.cli.connect.connection import Ports, forward_words, reached_node, shell_words, task_words
from llm_fleet.cli.connect.this_machine import (
    INCLUDE,
    Platform,
    check_programs,
    open_session,
    ssh_config,
    write_ssh_file,
)
from llm_fleet.cli.nodes.node import Listing, NodeRole, wanted_node
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.session import Session, Target, run_command
from llm_fleet.rules.feature_codes import CommandCode, NodesCode
from tests.cli.connect.session_programs import SessionPrograms
from tests.cli.nodes.made_nodes import listing, node
from tests.cli.refused import code_of, refused
from tests.pains.reported import reported

CONTROLLER = node("controller", role=NodeRole.CONTROLLER)
LOGINS = [node("login", 1, role=NodeRole.LOGIN, status="Failure"), node("login", 2, role=NodeRole.LOGIN)]
WORKERS = [node("trn1", number) for number in range(1, 11)]
CLUSTER = listing(CONTROLLER, *LOGINS, *WORKERS)
PLACE = Place(kind=Kind.HYPERPOD, name="ml-cluster", region="us-west-2")


@pytest.mark.parametrize(
    ("requested", "label"),
    [
        ("controller", "controller-1"),
        ("Controller", "controller-1"),
        ("trn1-3", "trn1-3"),
        (WORKERS[4].instance_id, "trn1-5"),
        (WORKERS[4].name, "trn1-5"),
        (f"{WORKERS[4].name}.us-west-2.compute.internal", "trn1-5"),
        (WORKERS[4].address, "trn1-5"),
        (None, "login-2"),
        ("login", "login-2"),  # The one that runs.
        ("login-1", "login-1"),
    ],
)
def test_a_node_is_found_by_each_of_its_names(requested: str | None, label: str):
    assert wanted_node(CLUSTER, requested).label == label


@pytest.mark.parametrize(
    ("requested", "code", "words"),
    [
        ("trn1", NodesCode.NODE_AMBIGUOUS, "10 nodes match"),
        ("compute", NodesCode.NODE_AMBIGUOUS, "and 2 more; `llm-fleet nodes` shows all"),
        ("i-0000000000", NodesCode.NODE_AMBIGUOUS, "13 nodes match"),
        ("trn1-11", NodesCode.NODE_UNKNOWN, "group trn1 has 10 nodes"),
        ("contoller", NodesCode.NODE_UNKNOWN, "write `controller`"),
        ("i-0fffffffffffffff0", NodesCode.NODE_UNKNOWN, "a replaced node has a new id"),
        ("zzz", NodesCode.NODE_UNKNOWN, "name one of controller-1"),
    ],
)
def test_an_unknown_or_ambiguous_node_is_reported(requested: str, code: NodesCode, words: str):
    error = refused(lambda: wanted_node(CLUSTER, requested))
    assert error.problems[0].code is code
    assert words in str(error)


def test_a_number_is_not_the_beginning_of_a_logical_id():
    nodes = listing(CONTROLLER, replace(WORKERS[0], logical_id="trn1-9abc1234"))
    assert unreached(nodes, "trn1-9")[0] is NodesCode.NODE_UNKNOWN
    assert wanted_node(nodes, "trn1-9abc1234").label == "trn1-1"


def unreached(nodes: Listing, requested: str | None, place: Place = PLACE) -> tuple[object, str]:
    error = refused(lambda: reached_node(nodes, requested, place, "us-west-2"))
    return error.problems[0].code, str(error)


def test_a_node_that_does_not_run_is_reported_with_the_message_of_aws():
    broken = node(status="Failure", message="lifecycle scripts did not run successfully")
    code, text = unreached(listing(broken), "trn1-1")
    assert code is NodesCode.NODE_NOT_RUNNING
    assert "trn1-1 is Failure: lifecycle scripts did not run successfully" in text


def test_a_cluster_without_a_running_node_is_reported():
    pending = node("controller", role=NodeRole.CONTROLLER, status="Pending")
    code, text = unreached(listing(pending), None)
    assert code is NodesCode.NODE_NOT_RUNNING
    assert "controller-1 is Pending" in text
    for requested in ("controller", None):
        code, text = unreached(listing(), requested)
        assert code is NodesCode.NO_NODES
        assert "there are no nodes yet" in text


def test_a_task_without_ecs_exec_is_reported():
    task = replace(node("task", role=NodeRole.TASK, status="RUNNING"), running=True)
    service = Place(kind=Kind.SERVICE, name="post-chat", region="us-west-2")
    code, text = unreached(listing(task), "task", service)
    assert code is NodesCode.NOT_REACHED
    assert "set `execute_command: true` for the service" in text
    assert reached_node(listing(replace(task, task_arn="arn")), "task-1", service, "us-west-2").task_arn == "arn"


WORDS = shell_words(node(), "us-west-2", user=None)
THROTTLED = (
    "An error occurred (ThrottlingException) when calling the StartSession operation (reached max retries: 2): Rate "
    "exceeded"
)
GONE = "An error occurred (TargetNotConnected) when calling the StartSession operation: trn1-1 is not connected."
DENIED = (
    "An error occurred (AccessDeniedException) when calling the StartSession operation: User: ada is not authorized to "
    "perform: ssm:StartSession on resource: x"
)


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPrograms:
    made = SessionPrograms.make(tmp_path / "programs")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session_module, "_PAUSES", (0.0, 0.0, 0.0))
    return made


def test_the_command_of_each_kind_of_session():
    one = node()
    begin = ["aws", "ssm", "start-session", "--region", "us-west-2", "--target", str(one.target)]
    assert begin == WORDS
    assert shell_words(one, "us-west-2", user="ada")[7:] == [
        "--document-name",
        "AWS-StartInteractiveCommand",
        "--parameters",
        '{"command":["sudo --login --user=ada"]}',
    ]
    ports = forward_words(one, "us-west-2", Ports.read("8080:80"))
    assert ports[8] == "AWS-StartPortForwardingSession"
    assert json.loads(ports[10]) == {"portNumber": ["80"], "localPortNumber": ["8080"]}
    task = task_words(node(task_arn="arn"), "us-west-2", cluster="post-chat", command=None)
    assert task[-2:] == ["--command", "/bin/sh"]


@pytest.mark.parametrize("text", ["80", "80:", "0:80", "80:65536", "a:b", "1:2:3"])
def test_invalid_ports_are_reported(text: str):
    assert code_of(lambda: Ports.read(text)) is NodesCode.PORTS


def test_words_are_quoted_for_each_shell():
    words = shell_words(node(), "us-west-2", user="ada")
    assert Platform.LINUX.command_line(words).endswith("""'{"command":["sudo --login --user=ada"]}'""")
    assert Platform.WINDOWS.command_line(words).endswith(r'''"{\"command\":[\"sudo --login --user=ada\"]}"''')


def test_the_exit_code_is_that_of_the_session(sessions: SessionPrograms):
    sessions.says("seven")
    assert open_session(WORDS, "trn1-1") == 7
    assert sessions.calls == [WORDS[1:]]


def test_a_throttled_session_is_retried_with_a_message(sessions: SessionPrograms, capfd: pytest.CaptureFixture[str]):
    sessions.says(THROTTLED, THROTTLED, "a shell")
    waited: list[float] = []
    assert open_session(WORDS, "trn1-1", sleep=waited.append) == 0
    assert waited == [1.0, 2.0]
    shown = capfd.readouterr()
    reported(21, shown.err, "AWS throttled the session; retry in 2 s")
    assert "ThrottlingException" not in shown.err
    assert "a shell" in shown.out


def test_permanent_throttling_is_reported(sessions: SessionPrograms):
    sessions.says(THROTTLED)
    reported = "AWS throttled the session 5 times"
    assert code_of(lambda: open_session(WORDS, "trn1-1", sleep=lambda _: None), match=reported) is NodesCode.THROTTLED
    assert len(sessions.calls) == 5


def test_an_error_of_aws_is_reported_once(sessions: SessionPrograms):
    sessions.says(GONE)
    unreached = "Session Manager cannot connect to trn1-1"
    assert code_of(lambda: open_session(WORDS, "trn1-1"), match=unreached) is NodesCode.NOT_REACHED
    sessions.says(DENIED)
    error = refused(lambda: open_session(WORDS, "trn1-1"), match="allow ssm:StartSession")
    assert (type(error), error.problems[0].code) == (AwsRefusal, CommandCode.DENIED)
    assert len(sessions.calls) == 1


def session(deadline: float | None = None) -> Session:
    return Session(Target(name="trn1-1", ssm=str(node().target), region="us-west-2"), user="ada", deadline=deadline)


def test_a_command_returns_its_lines_and_its_exit_code(sessions: SessionPrograms):
    lines: list[str] = []
    assert run_command(session(), "echo one; echo two >&2; exit 5", lines.append) == 5
    assert lines == ["one", "two"]
    assert "--user=ada" in (sessions.folder / "sudo").read_text()


def test_a_command_that_has_not_started_is_retried(sessions: SessionPrograms, capfd: pytest.CaptureFixture[str]):
    sessions.says("EOF", THROTTLED, "a shell")
    lines: list[str] = []
    assert run_command(session(), "echo one", lines.append) == 0
    assert (lines, len(sessions.calls)) == (["one"], 3)
    assert "the session did not start: Cannot perform start session: EOF" in capfd.readouterr().err


def test_a_command_that_has_started_is_not_retried(sessions: SessionPrograms):
    sessions.says("cut")
    command = "echo one; echo two; sleep 1; echo three"
    assert code_of(lambda: run_command(session(), command, print)) is NodesCode.CUT_OFF
    assert len(sessions.calls) == 1


def test_a_session_has_a_timeout(sessions: SessionPrograms):
    begun = time.monotonic()
    assert code_of(lambda: run_command(session(deadline=1.5), "sleep 30", print)) is NodesCode.CUT_OFF
    # Programs of the session end, too: otherwise they would keep the pipe open for 30 s.
    assert time.monotonic() - begun < 20


def test_each_missing_program_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch):
    def has_none(_: str) -> None:
        return None

    monkeypatch.setattr(programs_module.shutil, "which", has_none)
    for platform, words in (
        (Platform.LINUX, "sudo dpkg -i session-manager-plugin.deb"),
        (Platform.MACOS, "brew install --cask session-manager-plugin"),
        (Platform.WINDOWS, "winget install Amazon.SessionManagerPlugin"),
    ):
        error = refused(partial(check_programs, platform), match=words)
        assert [one.code for one in error.problems] == [NodesCode.PROGRAM_MISSING] * 2


NODES = [node("controller", role=NodeRole.CONTROLLER), node("trn1", 1), node("trn1", 2, status="Pending")]


def text(platform: Platform = Platform.LINUX, *, profile: str | None = None, user: str | None = "ada") -> str:
    return ssh_config(NODES, prefix="post-ml", region="us-west-2", user=user, profile=profile, platform=platform)


def as_ssh_reads(config: str, host: str, folder: Path) -> dict[str, str]:
    if shutil.which("ssh") is None:
        pytest.skip("ssh is not installed")
    file = folder / "config"
    file.write_text(config)
    shown = subprocess.run(["ssh", "-G", "-F", file, host], capture_output=True, text=True, check=True).stdout
    return {key: value for key, _, value in (line.partition(" ") for line in shown.splitlines())}


def test_each_running_node_has_an_entry_with_all_its_names():
    hosts = [line for line in text().splitlines() if line.startswith("Host ")]
    assert hosts == [
        f"Host post-ml-controller post-ml-controller-1 post-ml-{NODES[0].name}",
        f"Host post-ml-trn1-1 post-ml-{NODES[1].name}",
        "Host post-ml-*",
    ]


def test_ssh_reads_the_configuration(tmp_path: Path):
    read = as_ssh_reads(text(profile="night 100%"), "post-ml-trn1-1", tmp_path)
    assert read["user"] == "ada"
    assert read["stricthostkeychecking"] == "accept-new"
    assert read["hostkeyalias"] == NODES[1].instance_id
    assert read["userknownhostsfile"].endswith("/.ssh/llm-fleet/known_hosts")
    assert read["proxycommand"] == (
        "aws ssm start-session --profile 'night 100%%' --region us-west-2 "
        f"--target {NODES[1].target} --document-name AWS-StartSSHSession --parameters portNumber=%p"
    )


def test_on_windows_the_full_path_of_powershell_is_used():
    (line,) = [line for line in text(Platform.WINDOWS).splitlines() if "ProxyCommand" in line][:1]
    assert line == (
        r"  ProxyCommand C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe "
        f'"aws ssm start-session --region us-west-2 --target {NODES[0].target} '
        '--document-name AWS-StartSSHSession --parameters portNumber=%p"'
    )
    assert "--profile 'at night'" in text(Platform.WINDOWS, profile="at night")


def test_every_host_key_is_checked():
    for platform in Platform:
        assert "accept-new" in text(platform)
        assert "/dev/null" not in text(platform)


def test_only_the_user_can_read_the_file_and_their_own_configuration_is_unchanged(tmp_path: Path):
    path, included = write_ssh_file("one\n", name="ml", home=tmp_path)
    assert (path, included) == (tmp_path / ".ssh/llm-fleet/ml.conf", False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    own = tmp_path / ".ssh/config"
    own.write_text(f"{INCLUDE}\nHost *\n")
    assert write_ssh_file("two\n", name="ml", home=tmp_path) == (path, True)
    assert (path.read_text(), own.read_text()) == ("two\n", f"{INCLUDE}\nHost *\n")
    assert [one.name for one in path.parent.iterdir()] == ["ml.conf"]


def test_an_ssh_configuration_that_cannot_be_written_is_reported(tmp_path: Path):
    (tmp_path / ".ssh").write_text("")
    refused(lambda: write_ssh_file("", name="ml", home=tmp_path), match="cannot write the file")
