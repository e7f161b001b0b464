"""The log: any bytes can be written."""

import io
import sys
from pathlib import Path

import pytest

from llm_fleet_node.log import NAME, Log


def test_bytes_that_are_not_utf8_can_be_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(screen, encoding="utf-8", errors="strict", write_through=True))
    log = Log(tmp_path, started=0.0)
    log.line(b"jos\xe9".decode(errors="surrogateescape"))
    assert screen.getvalue().endswith(rb"  jos\udce9" + b"\n")
    assert (tmp_path / NAME).read_bytes().endswith(rb"  jos\udce9" + b"\n")
