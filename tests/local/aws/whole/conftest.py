"""One running, bootstrapped emulator for the tests in this folder."""

from collections.abc import Iterator

import pytest

from llm_fleet_local.aws.client import LocalAws


@pytest.fixture(scope="module")
def aws() -> Iterator[LocalAws]:
    with LocalAws() as running:
        running.bootstrap()
        yield running
