"""Missing scripts of a fleet file are reported before synthesis; each once, at its key."""

from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.problem import FleetError
from tests.fleet_file.good_fleet import edited

CLUSTER = "kind: hyperpod\n    "


def problems(tmp_path: Path, *edits: str) -> list[tuple[str, str]]:
    file = tmp_path / "fleet.yaml"
    file.write_text(edited(*edits))
    try:
        load_fleet(file)
    except FleetError as error:
        return [(problem.code.value, problem.where) for problem in error.problems]
    return []


@pytest.mark.parametrize(
    ("edits", "where"),
    [
        (("count: 4", "count: 4, on_create: mine.sh"), "clusters.ml.groups.workers.on_create"),
        (("kind: hyperpod", f"{CLUSTER}scripts: {{entry_point: mine.sh}}"), "clusters.ml.scripts.entry_point"),
        (("kind: hyperpod", f"{CLUSTER}scripts: {{folder: nowhere}}"), "clusters.ml.scripts.folder"),
        (("kind: hyperpod", f"{CLUSTER}scripts: {{folder: fleet.yaml}}"), "clusters.ml.scripts.folder"),
        (("kind: hyperpod", f"{CLUSTER}scripts: {{folder: .}}"), "clusters.ml.scripts.folder"),
    ],
)
def test_a_missing_script_is_reported_once(tmp_path: Path, edits: tuple[str, ...], where: str) -> None:
    assert problems(tmp_path, *edits) == [("LF403", where)]


def test_script_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/start.sh").touch()
    assert problems(tmp_path, "kind: hyperpod", f"{CLUSTER}scripts: {{folder: own, entry_point: start.sh}}") == []


def test_scripts_in_s3_are_not_checked(tmp_path: Path) -> None:
    assert problems(tmp_path, "kind: hyperpod", f"{CLUSTER}scripts: {{bucket: sagemaker-a, prefix: a}}") == []


def test_the_legacy_configuration_is_detected_by_its_file_and_requires_on_create(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    for name in ("on_create.sh", "on_init_complete.sh", "provisioning_parameters.json"):
        (tmp_path / "own" / name).touch()
    scripts = f"{CLUSTER}scripts: {{folder: own}}"
    assert set(problems(tmp_path, "kind: hyperpod", scripts)) == {
        ("LF578", "clusters.ml.provisioning"),
        ("LF578", "clusters.ml.groups.controller.on_create"),
        ("LF578", "clusters.ml.groups.workers.on_create"),
    }
    legacy = f"{scripts}\n    provisioning: none\n    lifecycle: OnCreate"
    assert problems(tmp_path, "kind: hyperpod", legacy) == []


def test_the_legacy_configuration_can_be_in_s3(tmp_path: Path) -> None:
    scripts = f"{CLUSTER}scripts: {{bucket: sagemaker-a, prefix: a, provisioning_parameters: true}}"
    assert ("LF578", "clusters.ml.provisioning") in problems(tmp_path, "kind: hyperpod", scripts)
