"""A fleet file for a scenario: fewer workers, another environment or none, and files found from any folder."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.drill.fleet import EXAMPLE
from llm_fleet_local.drill.variant import write_variant


@pytest.mark.parametrize("packages", [None, ("packaging",), ()])
def test_each_variant_can_be_deployed(tmp_path: Path, packages: tuple[str, ...] | None):
    written = write_variant(EXAMPLE, tmp_path, workers=1, packages=packages)
    load_fleet(written)
    cluster: dict[str, Any] = yaml.safe_load(written.read_text())["clusters"]["train"]
    assert cluster["groups"]["workers"]["count"] == 1
    assert cluster["groups"]["login"]["count"] == 1
    assert ("training" in cluster, "downloads" in cluster) == ((packages != ()),) * 2
    if packages:
        assert cluster["training"]["environments"]["cpu"]["packages"] == ["packaging"]


def test_a_certificate_next_to_the_fleet_file_is_found(tmp_path: Path) -> None:
    fleet: dict[str, Any] = {"clusters": {"train": {"groups": {"workers": {"role": "compute"}}}}}
    fleet["clusters"]["train"]["directory"] = {"ca_certificate": "corp.pem"}
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(fleet))
    (tmp_path / "corp.pem").write_text("of corp")
    (tmp_path / "out").mkdir()
    write_variant(tmp_path / "fleet.yaml", tmp_path / "out", workers=1)
    assert (tmp_path / "out" / "corp.pem").read_text() == "of corp"
