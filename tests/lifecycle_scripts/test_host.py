"""The host: what it reads and writes."""

from pathlib import Path

import pytest

from llm_fleet_node.host import Host


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
