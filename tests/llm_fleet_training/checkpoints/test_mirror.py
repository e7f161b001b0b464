"""The copy in S3: `checkpoint.json` last, failures reported, restored when the folder is empty. `aws` is a stand-in."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.llm_fleet_training.runs import Run

AWS = '''#!/usr/bin/python3
"""Plays `aws s3`: a bucket is a folder; every call is noted. `s3 ls` of nothing ends with 1 and says nothing."""
import fnmatch, os, shutil, sys, time
from pathlib import Path
root = Path(__file__).parent.parent / "s3"
words = sys.argv[1:]
with open(root.parent / "calls", "a") as calls:
    calls.write(" ".join(words) + "\\n")
if (root.parent / "denied").exists():
    time.sleep(float((root.parent / "denied").read_text() or 0))
    sys.exit(print("An error occurred (AccessDenied) when calling ListObjectsV2", file=sys.stderr) or 254)
place = lambda word: root / word[5:] if word.startswith("s3://") else Path(word)
excluded = words[words.index("--exclude") + 1] if "--exclude" in words else ""
assert words[0] == "s3" and words[1] in ("ls", "cp", "sync", "rm"), words
paths = [place(word) for word in words[2:] if not word.startswith("--") and word != excluded]
if words[1] == "ls":
    assert words[2].endswith("/")
    if not paths[0].is_dir():
        sys.exit(1)
    for one in sorted(paths[0].iterdir()):
        print(f"                           PRE {one.name}/" if one.is_dir() else f"2026-11-20 20:00:00 1 {one.name}")
elif words[1] == "rm" and "--recursive" in words:
    shutil.rmtree(paths[0])
elif words[1] == "rm":
    paths[0].unlink()
else:
    files = [one for one in paths[0].rglob("*") if one.is_file()] if paths[0].is_dir() else [paths[0]]
    for one in files:
        if excluded and fnmatch.fnmatch(one.name, excluded):
            continue
        target = paths[1] / one.relative_to(paths[0]) if paths[0].is_dir() else paths[1]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one, target)
'''


@pytest.fixture
def bucket(run: Run, tmp_path: Path) -> Path:
    """The folder of the bucket in the stand-in; the run mirrors to it."""
    program = tmp_path / "bin/aws"
    program.parent.mkdir()
    (tmp_path / "s3").mkdir()
    program.write_text(AWS)
    program.chmod(0o755)
    run.options["mirror"] = "s3://bucket/run/"
    return tmp_path / "s3/bucket/run"


def started(run: Run, bucket: Path, **changes: Any) -> str:
    """One start with `aws` on the PATH; it must succeed."""
    environment = {"PATH": f"{bucket.parents[2] / 'bin'}:/usr/bin:/bin"}
    ended = run.train(more={"environment": environment}, **changes)
    assert ended.codes == [0], ended.said
    return ended.said


def test_checkpoints_are_copied_record_last_and_pruned_record_first(run: Run, bucket: Path):
    started(run, bucket)
    assert sorted(place.name for place in bucket.iterdir()) == ["step_00000004", "step_00000006"]
    calls = (bucket.parents[2] / "calls").read_text().splitlines()
    puts = [call for call in calls if call.startswith(("s3 sync", "s3 cp"))]
    assert "s3 sync" in puts[0]
    assert "--exclude checkpoint.json" in puts[0]
    assert puts[1].split()[3] == "s3://bucket/run/step_00000002/checkpoint.json"
    removed = [call for call in calls if call.startswith("s3 rm")]
    assert removed[0].startswith("s3 rm s3://bucket/run/step_00000002/checkpoint.json")
    assert "--recursive" in removed[1]
    for place in bucket.iterdir():
        assert {one.name for one in place.iterdir()} == {one.name for one in (run.checkpoints / place.name).iterdir()}


def test_an_empty_folder_is_restored_and_the_result_is_the_same(run: Run, bucket: Path):
    started(run, bucket)
    expected = run.result["parameters_sha256"]
    shutil.rmtree(run.checkpoints)
    (bucket / "step_00000006/checkpoint.json").unlink()
    said = started(run, bucket)
    assert "step 6 in s3://bucket/run/ is skipped: it has no checkpoint.json" in said
    assert "step 4 is restored from s3://bucket/run/" in said
    assert "resumes from step 4 " in said
    assert run.result["parameters_sha256"] == expected
    assert (bucket / "step_00000006/checkpoint.json").exists()


def test_an_incomplete_copy_is_not_restored(run: Run, bucket: Path):
    started(run, bucket)
    shutil.rmtree(run.checkpoints)
    for place in bucket.iterdir():
        (place / "model-tp00-of-01.safetensors").write_bytes(b"half")
    ended = run.train(more={"environment": {"PATH": f"{bucket.parents[2] / 'bin'}:/usr/bin:/bin"}})
    assert ended.codes == [3]
    assert "LFJ14: none of the 2 checkpoints in s3://bucket/run/ is complete" in ended.said
    assert run.steps() == []


def test_a_failing_mirror_is_reported_and_training_continues(run: Run, bucket: Path):
    assert run.train(steps=2, mirror=None).codes == [0]
    (bucket.parents[2] / "denied").write_text("1.0")  # Seconds: step 2 is still being copied when the run ends.
    said = started(run, bucket)
    assert "mirror: step 6 is not copied: aws s3 sync: An error occurred (AccessDenied)" in said
    assert run.steps() == [4, 6]


def test_an_unreadable_mirror_is_not_treated_as_empty(run: Run, bucket: Path):
    (bucket.parents[2] / "denied").touch()
    ended = run.train(more={"environment": {"PATH": f"{bucket.parents[2] / 'bin'}:/usr/bin:/bin"}})
    assert ended.codes == [1], "a restart may fix it"
    assert "LFJ17" in ended.said
    assert "AccessDenied" in ended.said


def test_a_missing_aws_cli_is_reported_before_training(run: Run, bucket: Path):
    assert run.train(steps=2, mirror=None).codes == [0]
    without = run.train(steps=6, more={"environment": {"PATH": "/nowhere"}})
    assert (without.codes, "step 3/6" in without.said) == ([3], False), "no restart fixes it"
    assert "LFJ17: `aws` is missing, which copies checkpoints to s3://bucket/run/" in without.said


def test_slow_copies_do_not_block_training_and_are_not_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of five checkpoints offered during the copy of the first, the newest two wait; two are skipped and logged."""
    import threading

    from llm_fleet_training.checkpoints import mirror
    from llm_fleet_training.checkpoints.checkpoints import Complete
    from llm_fleet_training.checkpoints.record import Record

    go, begun = threading.Event(), threading.Event()
    copied: list[str] = []

    def slow(*words: str) -> str:
        begun.set()
        assert go.wait(10)
        copied.append(" ".join(words[:2]))
        return ""

    said: list[str] = []
    monkeypatch.setattr(mirror, "aws", slow)
    one = mirror.Mirror("s3://b/r", keep=2, say=said.append)
    for step in range(1, 6):
        record = Record(step, "cpu", "tensor-slices", "f", {}, {}, 1, 0, 0)
        one.offer(Complete(tmp_path / f"step_{step:08}", record))
        assert begun.wait(10)
    assert one.waiting() == [1, 4, 5]
    go.set()
    one.close(10)
    assert [line for line in said if "is skipped" in line] == [
        f"mirror: step {step} is skipped: copies are slower than checkpoints" for step in (2, 3)
    ]
    assert one.waiting() == []
    assert json.dumps(copied).count("s3 sync") == 3
