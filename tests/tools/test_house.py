"""The counts of `make house`, for a small project with one description of each kind."""

import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from tools import house

FILES = {
    "constructs/llm_fleet/spec/volume.py": """
        class Volume(Spec):
            size: int
            kind: str
            speed: int

            def checked(self) -> int:
                return self.size
        """,
    "constructs/llm_fleet/rules/protocols.py": """
        class VolumeLike(Protocol):
            @property
            def size(self) -> int: ...
            @property
            def kind(self) -> str: ...
            @property
            def speed(self) -> int: ...
        """,
    "constructs/llm_fleet/storage/volume.py": """
        class VolumeValue:
            size: int
            kind: str
            speed: int
            other: int

        class Disk:
            def __init__(self, *, size: int, kind: str, speed: int) -> None: ...

        class Unrelated:
            size: int
            color: str
            name: str
        """,
    "constructs/llm_fleet/storage/nested/volume.py": "",
    "stacks/llm_fleet_stacks/volumes.py": """
        def volume_from(config):
            return VolumeValue(size=config.size)
        """,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip())
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_lines_that_describe_fields(root: Path) -> None:
    assert house.field_lines(root, FILES) == 7 + 7 + 5 + 2, "spec, protocol, mirror and translator; no constructor"


def test_a_field_is_declared_once_in_each_kind_and_rendered_once(root: Path) -> None:
    most, where = house.most_declared(house.described(root, FILES))
    assert (most, where) == (5, "speed: Volume, VolumeLike, VolumeValue, Disk(), and its rendering")


def test_crumbs_and_equal_names(root: Path) -> None:
    counted = house.file_lines(root, "constructs")
    assert counted["constructs/llm_fleet/spec/volume.py"] == 7
    assert house.crumbs({"a/crumb.py": 29, "a/room.py": 30, "a/__init__.py": 1}) == ["a/crumb.py"]
    assert list(house.same_names(FILES)) == ["storage/volume.py"]


def test_a_target_holds_or_says_by_how_much_it_misses() -> None:
    assert house.Target("files", 360, 360).verdict == "holds"
    assert house.Target("files", 360, 1385).verdict == "misses by 1,025"
    assert house.Target("seconds", 360, None).verdict == "not measured"


def test_the_table_has_every_target(capsys: pytest.CaptureFixture[str]) -> None:
    house.main(["--test-seconds", "400"])
    printed = capsys.readouterr().out
    assert "at most   80,000" in printed
    assert "400  at most      360  misses by 40" in printed
