"""Selection of the checkpoint from before a problem, and its copy to another prefix."""

import math
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.functions.training_watch.checkpoints import (
    CheckpointCopy,
    CheckpointGone,
    Layout,
    StoredFile,
    base_of,
    choose,
    split_uri,
    successor_name,
)
from tests.functions.training_watch.memory_aws import BUCKET, MemoryS3

HUGGING_FACE = Layout.of("hugging-face")


def _files(*rows: tuple[str, float]) -> list[StoredFile]:
    return [StoredFile(path=path, size=1, saved=saved) for path, saved in rows]


def _whole(step: int, saved: float) -> list[StoredFile]:
    return _files((f"checkpoint-{step}/model", saved), (f"checkpoint-{step}/trainer_state.json", saved + 1))


def _chosen(files: list[StoredFile], before: float, layout: Layout = HUGGING_FACE) -> str | None:
    found = choose(files, layout, before=before)
    return found.folder if found else None


def test_the_newest_earlier_checkpoint_is_chosen() -> None:
    files = [*_whole(20, 100), *_whole(40, 200), *_whole(60, 300)]
    assert _chosen(files, 1000) == "checkpoint-60"
    assert _chosen(files, 250) == "checkpoint-40"
    assert _chosen(files, 50) is None
    assert _chosen([], 1000) is None


def test_a_checkpoint_with_a_later_file_is_not_chosen() -> None:
    files = [*_whole(20, 100), *_whole(40, 200), *_files(("checkpoint-40/late-shard", 500))]
    assert _chosen(files, 400) == "checkpoint-20"


def test_a_checkpoint_without_its_marker_is_incomplete() -> None:
    assert _chosen([*_whole(20, 100), *_files(("checkpoint-40/model", 200))], 400) == "checkpoint-20"


def test_other_files_are_not_checkpoints() -> None:
    files = _files(("events.log", 10), ("best/trainer_state.json", 20), ("checkpoint-x/trainer_state.json", 30),
                   ("job-r1/checkpoint-80/trainer_state.json", 40))  # fmt: skip
    assert _chosen(files, 400) is None


def test_the_newest_checkpoint_is_the_last_saved_one_then_the_one_with_the_highest_step() -> None:
    assert _chosen([*_whole(900, 100), *_whole(40, 200)], 400) == "checkpoint-40"
    assert _chosen([*_whole(900, 100), *_whole(1000, 100)], 400) == "checkpoint-1000"


def test_the_layout_of_llm_fleets_training_program_agrees_with_the_program() -> None:
    layout, scripts = Layout.of("llm-fleet"), Path("lifecycle_scripts/llm_fleet_training/checkpoints")
    assert f'FOLDER = re.compile(r"{layout.folder}")' in (scripts / "checkpoints.py").read_text()
    assert f'NAME = "{layout.marker}"' in (scripts / "record.py").read_text()


@pytest.mark.parametrize(("name", "folder", "step"), [("neuronx-distributed", "step_100", 100), ("llm-fleet", "step_00000020", 20)])  # fmt: skip # noqa: E501
def test_layouts_by_name(name: str, folder: str, step: int) -> None:
    assert Layout.of(name).step(folder) == step
    assert Layout.of(name).step(f".{folder}.1.part") is None


def test_a_custom_layout() -> None:
    layout = Layout.of({"folder": r"global_step(\d+)", "marker": "done", "pointer": "latest"})
    files = _files(("global_step7/done", 1), ("global_step9/x", 2), ("latest", 3))
    assert _chosen(files, 10, layout) == "global_step7"


def test_without_a_layout_all_earlier_files_are_the_checkpoint() -> None:
    files = _files(("model", 1), ("optimizer", 2), ("model-2", 300), ("job-r1/model", 1))
    found = choose(files, Layout.of("any"), before=100)
    assert found is not None
    assert (found.folder, found.saved) == ("", 2)


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("s3://bucket/a/b", ("bucket", "a/b/")),
        ("s3://bucket/a/b/", ("bucket", "a/b/")),
        ("s3://bucket", ("bucket", "")),
    ],
)
def test_a_prefix_ends_in_a_slash(uri: str, parts: tuple[str, str]) -> None:
    assert split_uri(uri) == parts


class _Stored:
    """A bucket with two checkpoints, and a copy of the first."""

    def __init__(self, **words: Any) -> None:
        self.now = 0.0
        self.s3 = MemoryS3(lambda: self.now)
        for step in (20, 40):
            self.now = step
            for file in ("model", "deep/optimizer", "trainer_state.json"):
                self.s3.write(f"base/checkpoint-{step}/{file}", f"{step} {file}".encode())
        self.now = 1000.0
        s3: Any = self.s3
        source, target = f"s3://{BUCKET}/base", f"s3://{BUCKET}/base/job-r1"
        layout = Layout.of({"folder": r"checkpoint-(\d+)", **words})
        self.copy = CheckpointCopy(s3, source=source, target=target, layout=layout, threads=words.pop("threads", 1))

    def there(self) -> dict[str, bytes]:
        return self.s3.below("base/job-r1/")


def _always() -> bool:
    return True


def test_only_the_chosen_checkpoint_is_copied() -> None:
    stored = _Stored()
    assert stored.copy.run("checkpoint-20", before=30, in_time=_always)
    assert stored.there() == {
        f"checkpoint-20/{file}": f"20 {file}".encode() for file in ("model", "deep/optimizer", "trainer_state.json")
    }


def test_parallel_copies_have_the_same_result() -> None:
    stored = _Stored(threads=4)
    assert stored.copy.run("checkpoint-20", before=30, in_time=_always)
    assert len(stored.there()) == 3


def test_a_copy_resumes_after_a_timeout() -> None:
    stored = _Stored()
    left = iter((True, True, False))
    assert not stored.copy.run("checkpoint-20", before=30, in_time=lambda: next(left))
    assert len(stored.there()) == 2
    copied: list[str] = []
    as_it_does = stored.s3.copy
    stored.s3.copy = lambda source, bucket, key, **_: (copied.append(key), as_it_does(source, bucket, key))  # type: ignore[method-assign] # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType]
    assert stored.copy.run("checkpoint-20", before=30, in_time=_always)
    assert len(copied) == 1
    assert len(stored.there()) == 3


def test_the_pointer_names_the_copy_when_it_is_complete() -> None:
    stored = _Stored(pointer="latest")
    assert not stored.copy.run("checkpoint-20", before=30, in_time=lambda: False)
    assert "latest" not in stored.there()
    assert stored.copy.run("checkpoint-20", before=30, in_time=_always)
    assert stored.there()["latest"] == b"checkpoint-20"


def test_a_missing_checkpoint_is_reported() -> None:
    with pytest.raises(CheckpointGone, match="checkpoint-99"):
        _Stored().copy.run("checkpoint-99", before=math.inf, in_time=_always)


def test_names_of_successors_are_within_the_limit() -> None:
    assert successor_name("job", 1) == "job-r1"
    assert successor_name("j" * 60, 9) == "j" * 60 + "-r9"
    long = [successor_name("j" * 61 + end, 1) for end in "ab"]
    assert len(set(long)) == 2
    assert all(len(name) == 63 and name.startswith("jjj") and name.endswith("-r1") for name in long)
    assert len(successor_name("j" * 63, 100)) == 63
    assert "--" not in successor_name("a-" * 31, 1)


def test_the_first_jobs_checkpoint_uri() -> None:
    assert base_of("s3://bucket/base", "job", 0) == "s3://bucket/base"
    assert base_of("s3://bucket/base/job-r1", "job", 2) == "s3://bucket/base"
    assert base_of("s3://bucket/base/job-r2", "job", 2) == "s3://bucket/base"
    assert base_of("s3://bucket/base/job-r3", "job", 2) == "s3://bucket/base/job-r3"
    assert base_of("s3://bucket/base/other-r1", "job", 2) == "s3://bucket/base/other-r1"
