"""Properties of standard output, and Ctrl-C, which always ends a command."""

import signal
import sys
import time

import pytest

from llm_fleet.cli.screen import Screen, ctrl_c_is_never_lost


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("terminal", "settings", "color"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colors(terminal: bool, settings: dict[str, str], color: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert Screen.of_output().color is color


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert Screen.of_output().width is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert Screen.of_output().width == 40


class _Thrown:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


def _command() -> None:
    with ctrl_c_is_never_lost():
        _Thrown(KeyboardInterrupt())
        time.sleep(30)


def test_a_ctrl_c_that_python_drops_is_raised_again():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _command()
    assert time.monotonic() - began < 20


def test_a_dropped_ctrl_c_is_not_raised_after_the_command():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ctrl_c_is_never_lost():
        _Thrown(KeyboardInterrupt())
    time.sleep(0.2)


def test_other_unraisable_exceptions_are_reported_by_python(monkeypatch: pytest.MonkeyPatch):
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda thrown: reported.append(thrown.exc_value))  # pyright: ignore
    before = sys.unraisablehook
    error = ValueError("no")
    with ctrl_c_is_never_lost():
        _Thrown(error)
    assert reported == [error]
    assert sys.unraisablehook is before
