"""Clusters for scenarios. A healthy one is shared: a scenario that breaks it repairs it; the next one checks that."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import EXAMPLE, read_fleet
from llm_fleet_local.drill.journal import Journal
from llm_fleet_local.drill.scenarios.trains import Trains
from llm_fleet_local.drill.session import open_on, run_folder
from llm_fleet_local.drill.training.story import train_and_lose_a_worker
from llm_fleet_local.drill.variant import write_variant
from llm_fleet_local.drill.work_folder import prepare_folders

Deploy = Callable[..., AbstractContextManager[DrillCluster]]
SMALL = ("packaging",)
"""A small training environment that is built fast: most scenarios do not depend on its packages."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the scenarios when nodes cannot be created."""
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="nodes are made as root"))


@pytest.fixture(scope="session")
def aws() -> Generator[AwsEmulator]:
    """The AWS emulator for all scenarios."""
    with AwsEmulator() as started:
        yield started


@pytest.fixture(scope="session")
def work() -> Path:
    """The folder of the drill in this checkout."""
    return prepare_folders(Path(__file__).parent)


@pytest.fixture(scope="session")
def deploy(aws: AwsEmulator, work: Path, tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    """Deploy a fleet file with a number of workers, and open the cluster `name`; no node is booted yet.

    `packages` are those of its training environment; `None` for what the file says.
    """

    @contextmanager
    def open_cluster(
        workers: int, fleet: Path = EXAMPLE, name: str = "train", packages: Sequence[str] | None = SMALL
    ) -> Generator[DrillCluster]:
        aws.deploy(write_variant(fleet, tmp_path_factory.mktemp("fleet"), workers=workers, packages=packages))
        with open_on(aws, name, Journal(run_folder(work) / "journal.jsonl"), work) as cluster:
            yield cluster

    return open_cluster


@pytest.fixture(scope="session")
def _shared(deploy: Deploy) -> Generator[DrillCluster]:
    with deploy(3, packages=None) as cluster:
        cluster.boot()
        cluster.bring_up()
        yield cluster


@pytest.fixture
def cluster(_shared: DrillCluster) -> Generator[DrillCluster]:
    """A healthy cluster: controller, login node and three workers with PyTorch. Scenarios must leave it healthy."""
    yield _shared
    _shared.slurm.wait_for_states(*(one.host_name for one in _shared.workers), state="idle", seconds=60)


@pytest.fixture(scope="session")
def trains(_shared: DrillCluster) -> Trains:
    """The fleet's run, trained on the healthy cluster twice, the second time with the loss of a worker."""
    found = read_fleet(EXAMPLE).run
    assert found is not None
    return Trains(_shared, found[0], train_and_lose_a_worker(_shared, *found))
