"""Real programs instead of stand-ins; `make real-parts` installs and runs them, all other test runs skip them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vllm() -> Path:
    """The folder with the programs of an environment that has vLLM."""
    place = os.environ.get("LLM_FLEET_VLLM")
    if not place:
        pytest.skip("there is no real vLLM: make real-parts")
    return Path(place).absolute()
