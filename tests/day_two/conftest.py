"""One AWS emulator for the changes of a fleet, which follow each other."""

from collections.abc import Generator

import pytest

pytest.register_assert_rewrite("tests.day_two.changes")

from tests.day_two.changes import Stage  # noqa: E402 - only what is imported later is rewritten


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    """No fleet at first."""
    stage = Stage(folder=tmp_path_factory.mktemp("assemblies"))
    yield stage
    stage.close()
