"""A fleet file for a scenario: fewer workers, another environment or none, and what it names is found from anywhere."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from drill.session import FLEET
from drill.variant import write_variant
from llm_fleet.config.load import load_fleet


@pytest.mark.parametrize("packages", [None, ("packaging",), ()])
def test_each_is_a_fleet_that_can_be_deployed(tmp_path: Path, packages: tuple[str, ...] | None):
    written = write_variant(FLEET, tmp_path, workers=1, packages=packages)
    load_fleet(written)
    cluster: dict[str, Any] = yaml.safe_load(written.read_text())["clusters"]["train"]
    assert cluster["groups"]["workers"]["count"] == 1
    assert cluster["groups"]["login"]["count"] == 1
    assert ("training" in cluster, "downloads" in cluster) == ((packages != ()),) * 2
    if packages:
        assert cluster["training"]["environments"]["cpu"]["packages"] == ["packaging"]
