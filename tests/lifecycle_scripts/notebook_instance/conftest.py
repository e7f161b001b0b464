"""A throwaway notebook instance."""

from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.sagemaker.notebook import lifecycle_script, notebook_settings
from tests.lifecycle_scripts.notebook_instance.throwaway_notebook import ThrowawayNotebook


@pytest.fixture
def notebook(tmp_path: Path) -> ThrowawayNotebook:
    """One that was never started."""
    return ThrowawayNotebook(tmp_path / "root")


@pytest.fixture(scope="module")
def script() -> str:
    """The script with default settings and a bucket."""
    return made_script()


def made_script(*, pins: tuple[str, ...] = ("sagemaker<3",), idle_minutes: int | None = 60) -> str:
    """The lifecycle script with these settings."""
    stack = cdk.Stack()
    settings = notebook_settings(pins=pins, bucket="our-data", idle_minutes=idle_minutes)
    return stack.resolve(lifecycle_script(stack, settings, files={"/usr/local/bin/hello": "#!/bin/bash\necho hello\n"}))
