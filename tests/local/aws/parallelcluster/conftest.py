"""One running emulation, with a network, scripts and policies that clusters may name."""

from collections.abc import Iterator

import pytest

from local.aws.client import LocalAws
from tests.local.aws.parallelcluster.clusters import Clusters


@pytest.fixture(scope="session")
def clusters() -> Iterator[Clusters]:
    with LocalAws(region="us-west-2") as running:
        yield Clusters(running)
