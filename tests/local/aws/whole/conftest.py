"""One running emulation, bootstrapped, for the tests of this folder."""

from collections.abc import Iterator

import pytest

from local.aws.client import LocalAws


@pytest.fixture(scope="module")
def aws() -> Iterator[LocalAws]:
    with LocalAws() as running:
        running.bootstrap()
        yield running
