"""A loaded fleet has resolved values, and paths relative to its file."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from llm_fleet import LustreThroughput
from llm_fleet.fleet_file import document
from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from tests.fleet_file.good_fleet import GOOD, edited

ROOT = Path(__file__).parents[2]


FILES = sorted(path for folder in ("examples", "tests/data/good") for path in (ROOT / folder).glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_parser_without_libyaml_reads_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text()
    expected = document.parse(text, subject=path.name)
    monkeypatch.setattr(document, "_LOADER", yaml.SafeLoader)
    assert document.parse(text, subject=path.name) == expected


def test_scripts_are_found_relative_to_the_file(tmp_path: Path) -> None:
    for folder in ("fleets", "mine"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mine/on_init_complete.sh").touch()
    here = tmp_path / "fleets"
    (here / "fleet.yaml").write_text(edited("kind: hyperpod", "kind: hyperpod\n    scripts: {folder: ../mine}"))
    (here / "other.yaml").write_text(GOOD)
    assert load_fleet(here / "fleet.yaml").hyperpod_clusters["ml"].scripts.scripts_path == here / "../mine"
    assert load_fleet(here / "other.yaml").hyperpod_clusters["ml"].scripts.scripts_path is None


def test_values_are_resolved() -> None:
    fleet = load_fleet(ROOT / "examples/hyperpod-trn1.yaml")
    assert fleet.network is not None
    assert fleet.network.zones == ("usw2-az4",)
    assert fleet.storage.fsx is not None
    fsx = fleet.storage.fsx
    assert (fsx.storage_capacity_gib, fsx.throughput) == (4800, LustreThroughput(per_tib=250))
    assert fsx.effective_efa(fleet.region) is False
    groups = fleet.hyperpod_clusters["ml-cluster"].by_name
    assert list(groups) == ["controller-group", "worker-group"]
    assert groups["worker-group"].node_type == "Compute"
    assert fleet.hyperpod_clusters["ml-cluster"].running_groups[1].on_init_complete == "on_init_complete.sh"


def test_import_is_a_data_repository_of_the_whole_file_system() -> None:
    fleet = parse_fleet(edited("throughput: 250 MB/s/TiB", "throughput: 250 MB/s/TiB, import: s3://my-data"))
    assert fleet.storage.fsx is not None
    (repository,) = fleet.storage.fsx.repositories
    assert (repository.file_system_path, repository.data_repository_path) == ("/", "s3://my-data")
    assert repository.auto_import == ("NEW", "CHANGED", "DELETED")


@pytest.mark.parametrize(
    ("cluster", "group", "create", "complete"),
    [
        ("", "", None, "on_init_complete.sh"),
        ("lifecycle: OnCreate", "", "on_create.sh", None),
        ("lifecycle: none", "", None, None),
        ("lifecycle: none", ", lifecycle: OnCreate", "on_create.sh", None),
        ("scripts: {entry_point: go.sh}", "", None, "go.sh"),
        ("", ", on_create: mine.sh", "mine.sh", None),
        ("lifecycle: OnCreate", ", on_init_complete: mine.sh", None, "mine.sh"),
        ("", ", lifecycle: none", None, None),
    ],
)
def test_lifecycle_of_a_group_has_priority_over_that_of_the_cluster(
    cluster: str, group: str, create: str | None, complete: str | None
) -> None:
    fleet = parse_fleet(edited("kind: hyperpod", f"kind: hyperpod\n    {cluster}", "count: 4", f"count: 4{group}"))
    workers = fleet.hyperpod_clusters["ml"].running_groups[1]
    assert (workers.on_create, workers.on_init_complete) == (create, complete)


def test_models_are_immutable() -> None:
    fleet = parse_fleet(GOOD)
    with pytest.raises(ValidationError, match="frozen"):
        fleet.region = "us-east-1"  # pyright: ignore[reportAttributeAccessIssue]
