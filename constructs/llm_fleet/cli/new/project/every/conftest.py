"""The CDK app of the tests."""

from pathlib import Path

import pytest
from llm_fleet_stacks.synth import fleet_app, use_node_of_environment

use_node_of_environment()  # Before the first import of aws_cdk.

import aws_cdk as cdk  # noqa: E402

PROJECT = Path(__file__).parent.parent


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> cdk.App:
    """Return the stacks of fleet.yaml, before synthesis."""
    monkeypatch.chdir(PROJECT)
    # The CDK CLI also runs the CDK's own validator at each synth; here it would take most of the time.
    monkeypatch.setenv("CDK_VALIDATION", "false")
    return fleet_app(PROJECT / "fleet.yaml")
