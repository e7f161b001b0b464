"""The host: what it reads and writes."""

from pathlib import Path

import pytest

from llm_fleet_node.host import CommandFailed, Host


def test_what_a_process_said_that_is_gone_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> str:
        raise ProcessLookupError(3, "No such process")  # as /proc answers when it ends between opening and reading

    monkeypatch.setattr(Path, "read_text", gone)
    assert Host(tmp_path).read("/proc/4711/stat") is None


def test_a_text_that_is_no_utf8_is_written_back_as_it_was(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "passwd").write_bytes(b"jos\xe9:x:1000:\n")
    text = host.read("/passwd")
    assert text is not None
    host.write("/copy", text)
    assert (tmp_path / "copy").read_bytes() == b"jos\xe9:x:1000:\n"
    assert not host.write("/copy", text)


@pytest.mark.parametrize(("ending", "seconds"), [("exit 3", 60), ("read <><(:)", 0.5)])
def test_a_secret_is_not_told_by_a_command_that_fails(tmp_path: Path, ending: str, seconds: float) -> None:
    teller = tmp_path / "usr/bin/teller"
    teller.parent.mkdir(parents=True)
    teller.write_text(f"#!/bin/bash\necho s3cr3t\necho why >&2\n{ending}\n")
    teller.chmod(0o755)
    with pytest.raises(CommandFailed) as told:
        Host(tmp_path).run("teller", timeout=seconds, secret=True)
    assert "s3cr3t" not in f"{told.value}{told.value.output}"
    assert "why" in told.value.output
