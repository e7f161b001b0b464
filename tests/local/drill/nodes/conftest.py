"""Nodes for tests, of every back end that this machine supports; one cluster for all tests in a file."""

from collections.abc import Generator
from pathlib import Path

import pytest

from llm_fleet_local.drill.image.image import Images
from llm_fleet_local.drill.nodes.backend import Backend, NodePlan
from llm_fleet_local.drill.nodes.docker import DockerBackend
from llm_fleet_local.drill.nodes.docker_engine import find_engine
from llm_fleet_local.drill.nodes.docker_image import provide_docker_image
from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.nodes.unshare import UnshareBackend
from llm_fleet_local.drill.work_folder import image_folder, prepare_folders


@pytest.fixture(scope="module", params=[pytest.param("unshare", marks=pytest.mark.root), "docker"])
def backend(request: pytest.FixtureRequest) -> Generator[Backend]:
    work = prepare_folders(Path(__file__).parent)
    if request.param == "docker":
        engine = find_engine()
        if engine is None:
            pytest.skip("no Docker or Podman engine answers on this machine")
        with DockerBackend(engine, provide_docker_image(engine), work, subnet="10.67.0.0/16") as made:
            yield made
    else:
        with UnshareBackend(Images(image_folder()).provide(), work, subnet="10.67.0.0/16") as made:
            yield made


@pytest.fixture(scope="module")
def two(backend: Backend) -> list[Node]:
    """Two nodes with a shared folder of the machine; the first has memory instead of instance storage."""
    shared = backend.folder / "shared"
    shared.mkdir()
    return list(
        backend.create_all(
            [
                NodePlan("ip-10-67-1-1", "10.67.1.1", {"/fsx": shared}, {"/opt/dlami/nvme": "16M"}),
                NodePlan("ip-10-67-1-2", "10.67.1.2", {"/fsx": shared}),
            ]
        )
    )
