"""A golden file of hashes notices what a whole template would show, and the whole difference can be requested."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden import differences
from tools import golden_diff

BUCKET: dict[str, Any] = {"Type": "AWS::S3::Bucket", "Properties": {"A": 1, "B": 2}, "DeletionPolicy": "Retain"}
KEPT: dict[str, Any] = {
    "Description": "d",
    "Resources": {"Data": BUCKET, "Logs": BUCKET},
    "Outputs": {"O": {"Value": 1}},
}
EXAMPLES = ("hyperpod-full", "hyperpod-trn1")


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    for example in EXAMPLES:
        assert differences(example, {"one": KEPT}, golden=tmp_path) == []
    monkeypatch.delenv("UPDATE_GOLDEN")
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(
    ("section", "changed"),
    [
        ("Resources", {"Data": {**BUCKET, "Properties": {"A": 1, "B": 3}}, "Logs": BUCKET}),
        ("Resources", {"Data": {**BUCKET, "Properties": {"B": 2, "A": 1}}, "Logs": BUCKET}),
        ("Resources", {"Data": {**BUCKET, "DeletionPolicy": "Delete"}, "Logs": BUCKET}),
        ("Resources", {"Data2": BUCKET, "Logs": BUCKET}),
        ("Resources", {"Data": BUCKET}),
        ("Resources", {"Logs": BUCKET, "Data": BUCKET}),
        ("Resources", {"Data": {**BUCKET, "Type": "AWS::S3Express::DirectoryBucket"}, "Logs": BUCKET}),
        ("Outputs", {"O": {"Value": 2}}),
        ("Description", "e"),
        ("Conditions", {"C": True}),
    ],
)
def test_every_change_of_a_template_is_found(golden: Path, example: str, section: str, changed: Any) -> None:
    assert differences(example, {"one": KEPT}, golden=golden) == []
    assert differences(example, {"one": {**KEPT, section: changed}}, golden=golden)


@pytest.mark.parametrize("example", EXAMPLES)
def test_another_stack_or_one_less_is_found_and_hashes_of_files_are_not(golden: Path, example: str) -> None:
    assert differences(example, {"one": KEPT, "two": KEPT}, golden=golden)
    assert differences(example, {}, golden=golden)
    assert differences(example, {"other": KEPT}, golden=golden)
    for digit in "ab":
        assert differences(example, {"one": {**KEPT, "Description": digit * 64}}, golden=golden) == differences(
            example, {"one": {**KEPT, "Description": "<hash>"}}, golden=golden
        )


def test_the_resource_is_named(golden: Path) -> None:
    changed = {"one": {**KEPT, "Resources": {"Data": BUCKET, "Logs": {**BUCKET, "DeletionPolicy": "Delete"}}}}
    lines = [line for line in differences("hyperpod-full", changed, golden=golden) if line.startswith(("+ ", "- "))]
    assert [line.split()[1:4] for line in lines] == [["Resources", "Logs", "AWS::S3::Bucket"]] * 2


def test_the_whole_difference_to_another_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def source(folder: Path, text: str) -> Path:
        (folder / "examples").mkdir(parents=True)
        (folder / "examples" / "one.yaml").touch()
        template = json.dumps({"Resources": {"Data": {"Type": text}}})
        (folder / "app.py").write_text(
            "import os, pathlib\n"
            "out = pathlib.Path(os.environ['CDK_OUTDIR'])\n"
            f"out.mkdir()\n(out / 'one-data.template.json').write_text({template!r})\n"
        )
        return folder

    monkeypatch.setattr(golden_diff, "ROOT", source(tmp_path / "now", "New"))
    monkeypatch.setattr(golden_diff, "checked_out", lambda commit, folder: source(folder, commit))  # pyright: ignore
    monkeypatch.setattr("sys.argv", ["golden_diff", "Old", "one"])
    assert golden_diff.main() == 1
    reported = capsys.readouterr().out.splitlines()
    assert '-   "Type": "Old"' in reported
    assert '+   "Type": "New"' in reported
    monkeypatch.setattr("sys.argv", ["golden_diff", "New", "one"])
    assert golden_diff.main() == 0
