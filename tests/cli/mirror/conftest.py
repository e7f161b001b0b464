"""Vendors on this machine: web servers, and a signed package repository."""

from collections.abc import Generator
from pathlib import Path

import pytest

from llm_fleet.cli.mirror import index_pages
from local.drill.stand_ins.apt_repository import AptRepository, StubPackage, build, neuron_packages
from tests.cli.mirror.web import Web, serve

PACKAGES = (
    StubPackage("libthing1", "1.5-2", files={"/opt/libthing": "1.5\n"}),
    StubPackage("libthing1", "1.0-1"),
    StubPackage("tool", "2:3.0-1", depends="libthing1 (>= 1.5), mailer | other-mailer, base"),
    StubPackage("tool", "2:2.0-1", depends="libthing1"),
    StubPackage("postman", "1.0+b1", provides="mailer"),
    StubPackage("base", "9", architecture="all"),
    StubPackage("lost", "1.0", depends="nowhere"),
)


@pytest.fixture(scope="session")
def debs(tmp_path_factory: pytest.TempPathFactory) -> AptRepository:
    neuron = neuron_packages("2.28.1", "2.30.0", "2.31.1")
    return build(tmp_path_factory.mktemp("debs") / "repository", [*PACKAGES, *neuron])


@pytest.fixture
def repository(debs: AptRepository) -> Generator[Web]:
    """The package repository's server."""
    with serve(debs.folder) as web:
        yield web


@pytest.fixture
def vendor(tmp_path: Path) -> Generator[Web]:
    """Another vendor's server, without files."""
    folder = tmp_path / "vendor"
    folder.mkdir()
    with serve(folder) as web:
        yield web


@pytest.fixture
def sources(tmp_path: Path, repository: Web) -> Path:
    """A sources.list that names the repository."""
    file = tmp_path / "sources.list"
    file.write_text(f"deb [arch=amd64] {repository.url} stable main\n")
    return file


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_pages, "_PAUSE", 0.01)
