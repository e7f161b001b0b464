"""Sessions that a person types into, single commands, and what goes wrong with either."""

import json
import time
from pathlib import Path

import pytest

from llm_fleet.cli import session as session_module
from llm_fleet.cli.aws.clients import AwsRefusal
from llm_fleet.cli.connect import interactive as programs_module
from llm_fleet.cli.connect.connect import Ports, forward_words, shell_words, task_words
from llm_fleet.cli.connect.interactive import Platform, check_programs, open_session
from llm_fleet.cli.session import Session, Target, run_command
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.problem import FleetError
from tests.cli.connect.session_programs import SessionPrograms
from tests.cli.nodes.made_nodes import node
from tests.pains.told import told

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


def test_the_words_of_each_kind_of_session():
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
def test_ports_that_are_none_are_told(text: str):
    with pytest.raises(FleetError) as caught:
        Ports.read(text)
    assert caught.value.problems[0].code is NodesCode.PORTS


def test_words_are_quoted_as_each_shell_reads_them():
    words = shell_words(node(), "us-west-2", user="ada")
    assert Platform.LINUX.command_line(words).endswith("""'{"command":["sudo --login --user=ada"]}'""")
    assert Platform.WINDOWS.command_line(words).endswith(r'''"{\"command\":[\"sudo --login --user=ada\"]}"''')


def test_a_session_ends_as_it_ends(sessions: SessionPrograms):
    sessions.says("seven")
    assert open_session(WORDS, "trn1-1") == 7
    assert sessions.calls == [WORDS[1:]]


def test_a_session_that_is_one_too_many_is_tried_again_with_words(
    sessions: SessionPrograms, capfd: pytest.CaptureFixture[str]
):
    sessions.says(THROTTLED, THROTTLED, "a shell")
    waited: list[float] = []
    assert open_session(WORDS, "trn1-1", sleep=waited.append) == 0
    assert waited == [1.0, 2.0]
    shown = capfd.readouterr()
    told(21, shown.err, "AWS takes it for one session too many; again in 2 s")
    assert "ThrottlingException" not in shown.err
    assert "a shell" in shown.out


def test_throttling_for_good_is_told(sessions: SessionPrograms):
    sessions.says(THROTTLED)
    with pytest.raises(FleetError, match="turned the session away as one too many, 5 times") as caught:
        open_session(WORDS, "trn1-1", sleep=lambda _: None)
    assert caught.value.problems[0].code is NodesCode.THROTTLED
    assert len(sessions.calls) == 5


def test_what_aws_refuses_is_told_once(sessions: SessionPrograms):
    sessions.says(GONE)
    with pytest.raises(FleetError, match="Session Manager does not reach trn1-1") as caught:
        open_session(WORDS, "trn1-1")
    assert caught.value.problems[0].code is NodesCode.NOT_REACHED
    sessions.says(DENIED)
    with pytest.raises(AwsRefusal, match="ask for ssm:StartSession") as refused:
        open_session(WORDS, "trn1-1")
    assert refused.value.code is CommandCode.DENIED
    assert len(sessions.calls) == 1


def session() -> Session:
    return Session(Target(name="trn1-1", ssm=str(node().target), region="us-west-2"), user="ada")


def test_a_command_says_its_lines_and_its_code(sessions: SessionPrograms):
    lines: list[str] = []
    assert run_command(session(), "echo one; echo two >&2; exit 5", lines.append) == 5
    assert lines == ["one", "two"]
    assert "--user=ada" in (sessions.folder / "sudo").read_text()


def test_a_command_that_has_not_begun_is_tried_again(sessions: SessionPrograms, capfd: pytest.CaptureFixture[str]):
    sessions.says("EOF", THROTTLED, "a shell")
    lines: list[str] = []
    assert run_command(session(), "echo one", lines.append) == 0
    assert (lines, len(sessions.calls)) == (["one"], 3)
    assert "the session did not come about: Cannot perform start session: EOF" in capfd.readouterr().err


def test_a_command_that_has_begun_is_not(sessions: SessionPrograms):
    sessions.says("cut")
    with pytest.raises(FleetError) as caught:
        run_command(session(), "echo one; echo two; sleep 1; echo three", print)
    assert caught.value.problems[0].code is NodesCode.CUT_OFF
    assert len(sessions.calls) == 1


def test_a_session_has_a_deadline(sessions: SessionPrograms):
    target = Target(name="trn1-1", ssm=str(node().target), region="us-west-2")
    begun = time.monotonic()
    with pytest.raises(FleetError) as caught:
        run_command(Session(target, user="ada", deadline=1.5), "sleep 30", print)
    assert caught.value.problems[0].code is NodesCode.CUT_OFF
    # What the session has started ends too: it would hold the other end of the pipe for 30 s.
    assert time.monotonic() - begun < 20


def test_each_program_that_is_missing_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    def has_none(_: str) -> None:
        return None

    monkeypatch.setattr(programs_module.shutil, "which", has_none)
    for platform, words in (
        (Platform.LINUX, "sudo dpkg -i session-manager-plugin.deb"),
        (Platform.MACOS, "brew install --cask session-manager-plugin"),
        (Platform.WINDOWS, "winget install Amazon.SessionManagerPlugin"),
    ):
        with pytest.raises(FleetError) as caught:
            check_programs(platform)
        assert [one.code for one in caught.value.problems] == [NodesCode.PROGRAM_MISSING] * 2
        assert words in str(caught.value)
