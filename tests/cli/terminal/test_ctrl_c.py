"""Ctrl-C ends a command wherever it comes, also where Python throws away what is raised."""

import signal
import sys
import time

import pytest

from llm_fleet.cli.terminal.screen import ctrl_c_is_never_lost


class _Thrown:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


def _command() -> None:
    with ctrl_c_is_never_lost():
        _Thrown(KeyboardInterrupt())
        time.sleep(30)


def test_a_ctrl_c_that_python_throws_away_comes_again():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _command()
    assert time.monotonic() - began < 20


def test_it_does_not_come_after_the_end():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ctrl_c_is_never_lost():
        _Thrown(KeyboardInterrupt())
    time.sleep(0.2)


def test_other_mistakes_are_told_as_ever(monkeypatch: pytest.MonkeyPatch):
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda thrown: told.append(thrown.exc_value))  # pyright: ignore
    before = sys.unraisablehook
    error = ValueError("no")
    with ctrl_c_is_never_lost():
        _Thrown(error)
    assert told == [error]
    assert sys.unraisablehook is before
