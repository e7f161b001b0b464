"""Rules of the bundle and its bucket."""

import pytest

from llm_fleet.lifecycle.script_folder import ScriptFile
from llm_fleet.rules.bundle import bucket_name, scripts
from llm_fleet.rules.problem import Problem

ENTRY = ScriptFile(path="on_init_complete.sh", data=b"#!/usr/bin/env bash\n", executable=True)


@pytest.mark.parametrize(
    ("name", "codes", "remedy"),
    [
        ("sagemaker-demo", [], ""),
        ("sagemaker-a.b-1", [], ""),
        ("${Token[TOKEN.1]}", [], ""),
        ("my-bucket", ["LF401"], "use a bucket named sagemaker-my-bucket"),
        ("sagemaker-" + "a" * 54, ["LF402"], "write a name of that form"),
        ("sagemaker-Demo", ["LF402"], ""),
        ("sagemaker-my_fleet", ["LF402"], ""),
        ("sagemaker-demo-", ["LF402"], ""),
        ("sagemaker-a..b", ["LF402"], ""),
        ("sagemaker-a-s3alias", ["LF402"], ""),
        ("xn--demo", ["LF401", "LF402"], ""),
        ("", ["LF401", "LF402"], ""),
    ],
)
def test_bucket_names(name: str, codes: list[str], remedy: str) -> None:
    problems = bucket_name(name)
    assert [problem.code.value for problem in problems] == codes
    assert not problems or remedy in problems[0].remedy


def test_a_valid_bundle_passes() -> None:
    assert _check(ENTRY, ScriptFile(path="a/b.py", data=b"", executable=False)) == []


@pytest.mark.parametrize(
    ("file", "code", "remedy"),
    [
        (ScriptFile(path="a.sh", data=b"x\r\ny\n", executable=True), "LF404", "sed -i"),
        (ScriptFile(path="a.py", data=b"x\r\n", executable=False), "LF404", ".gitattributes"),
        (ScriptFile(path="a.sh", data=b"x\n", executable=False), "LF405", "chmod +x a.sh"),
        (ScriptFile(path="a", data=b"", executable=False, link=True), "LF406", "with the file"),
        (ScriptFile(path="a.bin", data=b"x" * (1024 * 1024 + 1), executable=False), "LF407", "a separate bucket"),
        (ScriptFile(path="fleet.json", data=b"{}", executable=False), "LF408", "remove or rename it"),
        (ScriptFile(path="SHA256SUMS", data=b"", executable=False), "LF408", "remove or rename it"),
        (ScriptFile(path="a b.sh", data=b"", executable=True), "LF408", "letters, digits"),
    ],
)
def test_an_invalid_file_is_rejected(file: ScriptFile, code: str, remedy: str) -> None:
    (problem,) = _check(ENTRY, file)
    assert problem.code.value == code
    assert problem.path == (file.path,)
    assert remedy in problem.remedy


def test_two_folders_cannot_contain_the_same_file() -> None:
    (problem,) = _check(ENTRY, ENTRY)
    assert (problem.code.value, problem.path) == ("LF408", ("on_init_complete.sh",))
    assert "rename" in problem.remedy


def test_binary_files_can_contain_any_bytes() -> None:
    assert _check(ENTRY, ScriptFile(path="a.bin", data=b"\r\n", executable=False)) == []


def test_a_bundle_without_its_entry_script_is_rejected() -> None:
    (problem,) = _check()
    assert problem.code.value == "LF403"
    assert "on_init_complete.sh" in problem.message


def test_the_total_size_is_limited() -> None:
    files = [ScriptFile(path=f"{n}.bin", data=b"x" * 1024 * 1000, executable=False) for n in range(9)]
    (problem,) = _check(ENTRY, *files)
    assert problem.code.value == "LF407"
    assert problem.allowed == "at most 8192 KiB"


def test_all_problems_are_reported_together() -> None:
    codes = [problem.code.value for problem in _check(ScriptFile(path="a.sh", data=b"\r\n", executable=False))]
    assert codes == ["LF403", "LF405", "LF404"]


def _check(*files: ScriptFile) -> list[Problem]:
    return scripts(files, entry_points={"on_init_complete.sh"})
