"""The host: reads and writes. A killed writer leaves a temporary file, which the next writer removes."""

import os
import signal
from pathlib import Path

import pytest

from llm_fleet_node.host import CommandFailed, Host
from tests.lifecycle_scripts import programs
from tests.lifecycle_scripts.step_node import program


def test_a_file_of_an_ended_process_reads_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> str:
        raise ProcessLookupError(3, "No such process")  # like /proc when the process ends between open and read

    monkeypatch.setattr(Path, "read_text", gone)
    assert Host(tmp_path).read("/proc/4711/stat") is None


def test_text_that_is_not_utf8_is_kept_unchanged(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "passwd").write_bytes(b"jos\xe9:x:1000:\n")
    text = host.read("/passwd")
    assert text is not None
    host.write("/copy", text)
    assert (tmp_path / "copy").read_bytes() == b"jos\xe9:x:1000:\n"
    assert not host.write("/copy", text)


@pytest.mark.parametrize(("ending", "seconds"), [("exit 3", 60), ("read <><(:)", 0.5)])
def test_a_failed_command_does_not_show_a_secret(tmp_path: Path, ending: str, seconds: float) -> None:
    teller = tmp_path / "usr/bin/teller"
    teller.parent.mkdir(parents=True)
    teller.write_text(f"#!/bin/bash\necho s3cr3t\necho why >&2\n{ending}\n")
    teller.chmod(0o755)
    with pytest.raises(CommandFailed) as reported:
        Host(tmp_path).run("teller", timeout=seconds, secret=True)
    assert "s3cr3t" not in f"{reported.value}{reported.value.output}"
    assert "why" in reported.value.output


@pytest.mark.parametrize(
    "body",
    [
        "print(a, os.environ['GIVEN'], 'HOME' in os.environ, sys.stdin.read(), __file__)",
        "print('half'); sys.exit('why')",
        "sys.exit(a == ['x', 'y z'])",
        "sys.stdout.buffer.write(b'\\xff'); raise SystemExit(7)",
        "assert a == [], a",
        "import subprocess; print(subprocess.run(['env'], capture_output=True, text=True).stdout.count('GIVEN=g'))",
        "os.environ.clear(); sys.path.clear(); print(sys.argv)",
    ],
)
def test_a_node_program_has_the_same_result_with_and_without_a_process(
    tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "prog", body)
    ended: list[tuple[int | None, str]] = []
    for module in (programs.subprocess, programs.INSTEAD_OF_SUBPROCESS):
        monkeypatch.setattr("llm_fleet_node.host.subprocess", module)
        try:
            said = Host(tmp_path).run("prog", "x", "y z", input="in", env={"GIVEN": "g"})
            ended.append((0, said))
        except CommandFailed as failed:
            ended.append((failed.returncode, failed.output.splitlines()[-1] if failed.output else ""))
    assert ended[0] == ended[1]


def killed_before_replacing(root: Path) -> None:
    """Write /etc/conf in a process that is killed when its temporary file is complete."""
    child = os.fork()
    if not child:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        Host(root).write("/etc/conf", "half")
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_the_next_writer_removes_the_leftover_file(tmp_path: Path):
    killed_before_replacing(tmp_path)
    (draft,) = (tmp_path / "etc").iterdir()
    assert draft.name.startswith(".conf.draft-")
    Host(tmp_path).write("/etc/conf", "whole")
    assert {path.name: path.read_text() for path in (tmp_path / "etc").iterdir()} == {"conf": "whole"}


def test_the_temporary_file_of_a_running_writer_is_kept(tmp_path: Path):
    other = tmp_path / "etc" / ".conf.draft-1"
    other.parent.mkdir()
    other.write_text("other content")
    Host(tmp_path).write("/etc/conf", "whole")
    assert other.read_text() == "other content"
