"""The fixture `oracle`: one process of ParallelCluster for all tests of a worker, started by the first request."""

from collections.abc import Iterator

import pytest

from llm_fleet_local.parallelcluster.client import Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """ParallelCluster's own schema, validators and update policies."""
    with Oracle() as oracle:
        yield oracle
