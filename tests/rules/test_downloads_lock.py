"""Rules of the lock file of downloads: form, version and sizes."""

from typing import Any

import pytest

from llm_fleet.rules.downloads_lock import check_lock

GOOD: dict[str, Any] = {
    "name": "aws-neuronx-tools",
    "version": "2.28.23.0",
    "kind": "deb",
    "system": "ubuntu-22.04-amd64",
    "url": "https://example.com/pool/tools.deb",
    "sha256": "a" * 64,
    "size": 1000,
    "requires": [],
}


def lock(*files: Any, version: Any = 1) -> dict[str, Any]:
    return {"schema_version": version, "files": list(files)}


def reported(document: Any) -> list[tuple[str, str]]:
    return [(problem.code.value, problem.where) for problem in check_lock(document)]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"system": None, "kind": "wheel"},
        {"system": "amzn-2023-x86_64", "kind": "rpm"},
        {"system": "debian-13-arm64"},
        {"size": 8 << 30},
        {"requires": ["aws-neuronx-tools"]},
    ],
)
def test_valid_files_pass(changed: dict[str, Any]) -> None:
    assert reported(lock({**GOOD, **changed})) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", ""),
        ("name", 4),
        ("version", None),
        ("kind", "tar"),
        ("system", "ubuntu"),
        ("system", "Ubuntu-22.04-amd64"),
        ("system", "ubuntu-22.04-riscv64"),
        ("url", "ftp://example.com/a"),
        ("url", "https://example.com"),
        ("sha256", "a" * 63),
        ("sha256", "A" * 64),
        ("size", 0),
        ("size", True),
        ("size", 1.0),
        ("size", (8 << 30) + 1),
        ("requires", "a"),
        ("requires", [1]),
        ("color", "red"),
    ],
)
def test_a_wrong_value_is_reported_at_its_key(key: str, value: Any) -> None:
    assert reported(lock(GOOD, {**GOOD, "name": "other", key: value})) == [("LF427", f"files[1].{key}")]


@pytest.mark.parametrize("key", GOOD)
def test_every_key_is_required(key: str) -> None:
    assert reported(lock({name: value for name, value in GOOD.items() if name != key})) == [
        ("LF427", f"files[0].{key}")
    ]


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ([], ""),
        (None, ""),
        ({}, "schema_version"),
        ({"schema_version": 2, "files": []}, "schema_version"),
        ({"schema_version": 1}, "files"),
        ({"schema_version": 1, "files": {}}, "files"),
        (lock("a"), "files[0]"),
        (lock(GOOD, GOOD), "files[1].name"),
        (lock({**GOOD, "requires": ["aws-neuronx-tool"]}), "files[0].requires[0]"),
        (lock(*({**GOOD, "name": f"n{index}", "size": 8 << 30} for index in range(4))), "files"),
    ],
)
def test_errors_in_the_whole_file_are_reported(document: Any, where: str) -> None:
    assert reported(document) == [("LF427", where)]


def test_sizes_of_different_systems_are_not_added() -> None:
    systems = ["ubuntu-22.04-amd64", "ubuntu-24.04-amd64", "debian-13-amd64", "amzn-2023-x86_64"]
    assert reported(lock(*({**GOOD, "system": system, "size": 8 << 30} for system in systems))) == []


def test_a_misspelled_requirement_gets_a_suggestion() -> None:
    (problem,) = check_lock(lock({**GOOD, "requires": ["aws-neuronx-tool"]}))
    assert problem.remedy == "write `aws-neuronx-tools`"
