"""Files without a fleet: one error each, with code, remedy and, if possible, the line."""

import os
from pathlib import Path

import pytest

from llm_fleet.fleet_file.document import LocatedProblem
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.problem import FleetError, Problem


def problem_of(path: Path) -> Problem:
    with pytest.raises(FleetError) as caught:
        load_fleet(path)
    assert str(path) in str(caught.value)
    (problem,) = caught.value.problems
    return problem


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_missing_file_suggests_a_similar_one(tmp_path: Path) -> None:
    written(tmp_path, "fleet: a")
    problem = problem_of(tmp_path / "flet.yaml")
    assert problem.code.value == "LF101"
    assert str(tmp_path / "fleet.yaml") in problem.remedy


def test_a_directory_suggests_the_file_in_it(tmp_path: Path) -> None:
    inside = written(tmp_path, "fleet: a")
    problem = problem_of(tmp_path)
    assert problem.code.value == "LF101"
    assert "directory" in problem.message
    assert str(inside) in problem.remedy


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    problem = problem_of(pipe)  # Opening it would block forever.
    assert problem.code.value == "LF101"
    assert "regular file" in problem.message


def test_a_name_that_no_file_can_have_is_reported() -> None:
    assert problem_of(Path("a\0b")).code.value == "LF101"


def reject_to_open(*_: object) -> None:
    pytest.fail("the file was opened")


def test_a_huge_file_is_rejected_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    monkeypatch.setattr(Path, "open", reject_to_open)
    problem = problem_of(path)
    assert problem.code.value == "LF102"
    assert "52,428,800" in problem.message


def test_text_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    problem = problem_of(written(tmp_path, b"fleet: na\xefve"))
    assert problem.code.value == "LF103"
    assert "position 9" in problem.message


@pytest.mark.parametrize(
    ("content", "code", "line", "words"),
    [
        ("", "LF105", 1, "fleet:"),
        ("# only a comment\n", "LF105", 1, "fleet:"),
        ("- a\n- b\n", "LF106", 1, "fleet:"),
        ("just text", "LF106", 1, "fleet:"),
        ("fleet: a\nregion: [us\nclusters: {}", "LF104", 3, "brackets"),
        ("fleet: a\nnetwork:\n\taz: b", "LF104", 3, "tabs"),
        ('fleet: "\\ud800"', "LF104", 1, "quotes"),
        ("fleet: a\x07", "LF104", 1, "quotes"),
        ("fleet: a\nfleet: b\n", "LF107", 1, "keep one"),
        ("a: &x {b: c}\n", "LF108", 1, "`&x`"),
        ("a: 1\nb: *x\n", "LF108", 2, "`*x`"),
        ("a:\n  <<: {b: c}\n", "LF108", 2, "<<"),
        ("a: !!python/object/apply:os.system [id]\n", "LF108", 1, "!!python/object/apply:os.system"),
        ("fleet: a\n---\nfleet: b\n", "LF108", 2, "---"),
        ("? [a]\n: b\n", "LF108", 1, "colon"),
        ("a: 1\nb: ${Token[TOKEN.1]}\n", "LF108", 2, "the value itself"),
        ('a:\n  "x-#{Token[TOKEN.1]}": b\n', "LF108", 2, "the value itself"),
        ("a: " + "[" * 100_000, "LF109", 1, "brackets"),
        ("{a: " * 100_000, "LF109", 1, "brackets"),
    ],
)
def test_text_that_is_not_a_fleet_file_is_reported(
    tmp_path: Path, content: str, code: str, line: int, words: str
) -> None:
    with pytest.raises(FleetError) as caught:
        load_fleet(written(tmp_path, content))
    problem = caught.value.problems[0]
    assert isinstance(problem, LocatedProblem)
    assert (problem.code.value, problem.line) == (code, line)
    assert words in problem.remedy
    assert f"line {line}" in str(caught.value)


def test_aliases_are_not_expanded_exponentially(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert problem_of(written(tmp_path, "\n".join(lines))).code.value == "LF108"


def test_a_syntax_error_has_line_and_column(tmp_path: Path) -> None:
    problem = problem_of(written(tmp_path, "fleet: a\n region: b\n"))
    assert "line 2, column 8" in problem.message
    assert problem.value == " region: b"


@pytest.mark.parametrize("value", ["", " ~", " null"])
def test_a_key_without_a_value_is_reported(tmp_path: Path, value: str) -> None:
    with pytest.raises(FleetError) as caught:
        load_fleet(written(tmp_path, f"fleet: a\nregion: us-west-2\nnetwork: none\ntags:{value}\n"))
    (problem,) = caught.value.problems
    assert (problem.code.value, problem.where) == ("LF112", "tags")
    assert "`{}`" in problem.remedy
