"""Fixture of every test of the command."""

import boto3
import pytest


@pytest.fixture(autouse=True)
def _no_one_elses_session(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Replace the default session: boto3 keeps the credentials of the first test of a process."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
