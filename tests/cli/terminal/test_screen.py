"""What standard output can show."""

import pytest

from llm_fleet.cli.terminal.screen import Screen


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("terminal", "settings", "colour"),
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
def test_colours(terminal: bool, settings: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert Screen.of_output().colour is colour


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert Screen.of_output().width is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert Screen.of_output().width == 40
