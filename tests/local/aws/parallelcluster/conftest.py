"""One running emulator, with a network, scripts and policies for clusters."""

from collections.abc import Iterator

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.local.aws.parallelcluster.clusters import Clusters


@pytest.fixture(scope="session")
def clusters() -> Iterator[Clusters]:
    with LocalAws(region="us-west-2") as running:
        yield Clusters(running)
