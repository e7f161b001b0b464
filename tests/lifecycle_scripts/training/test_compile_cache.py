"""All users can write to the cache's folder, and one node has a timer that cleans it.

Only unused compiled graphs are removed, with any other content of the folder.
"""

import importlib.util
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import CompileCache
from llm_fleet_node.node import Node
from llm_fleet_node.steps.compile_cache import STEP
from llm_fleet_node.training import janitor
from tests.lifecycle_scripts.convergence import again, converges
from tests.lifecycle_scripts.step_node import file, program
from tests.lifecycle_scripts.training.training_node import CACHE, CONTROLLER, FSX, LOGIN, TRAINING, WORKERS, make

SOURCE = Path(__file__).parents[3] / "lifecycle_scripts" / janitor.SOURCE
UNIT = f"/etc/systemd/system/{janitor.NAME}"
SYSTEMCTL = """
active = os.path.join(root, "active")
verb, *rest = a
if verb == "is-active": sys.exit(0 if os.path.exists(active) else 3)
elif verb == "show": print("NeedDaemonReload=no")
elif verb == "start": open(active, "w").close()
elif verb == "stop": os.unlink(active)
else: sys.exit(f"not played: {a}")
"""


def controller(root: Path, cache: CompileCache = CACHE) -> Node:
    program(root, "systemctl", SYSTEMCTL)
    file(root, f"/bundle/{janitor.SOURCE}", SOURCE.read_text())
    return make(root, group=CONTROLLER, training=replace(TRAINING, compile_cache=cache))


def test_every_node_makes_the_folder_and_only_the_controller_cleans_it(tmp_path: Path) -> None:
    for group in (WORKERS, LOGIN):
        node = make(tmp_path, group=group)
        STEP.apply(node)
        STEP.verify(node)
    folder = tmp_path / CACHE.folder.lstrip("/")
    assert folder.stat().st_mode & 0o7777 == 0o1777
    assert not (tmp_path / "etc").exists()
    node = controller(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read(janitor.PROGRAM) == SOURCE.read_text()
    service = node.host.read(f"{UNIT}.service") or ""
    assert "clean_compile_cache.py /fsx/llm-fleet/compile-cache --max-age-days 30 --max-gib 500\n" in service
    assert "RequiresMountsFor=/fsx/llm-fleet/compile-cache\n" in service
    assert "Persistent=true" in (node.host.read(f"{UNIT}.timer") or "")


def test_without_a_size_limit_no_option_is_set(tmp_path: Path) -> None:
    node = controller(tmp_path, replace(CACHE, max_gib=None))
    STEP.apply(node)
    assert "--max-gib" not in (node.host.read(f"{UNIT}.service") or "")


def test_special_characters_of_a_folder_are_quoted_in_the_unit(tmp_path: Path) -> None:
    node = controller(tmp_path, replace(CACHE, folder="/fsx/a b%c$d"))
    STEP.apply(node)
    assert "clean_compile_cache.py '/fsx/a b%%c$$d' --max" in (node.host.read(f"{UNIT}.service") or "")


@pytest.mark.parametrize("spoilt", [janitor.PROGRAM, f"{UNIT}.service", f"{UNIT}.timer"])
def test_manual_changes_are_reported_and_fixed(tmp_path: Path, spoilt: str) -> None:
    node = controller(tmp_path)
    STEP.apply(node)
    file(tmp_path, spoilt, "other")
    with pytest.raises(Failure, match=f"LFN142  {spoilt}"):
        STEP.verify(node)
    STEP.apply(again(node))
    STEP.verify(node)


def test_a_stopped_timer_and_a_wrong_folder_mode_are_reported(tmp_path: Path) -> None:
    node = controller(tmp_path)
    STEP.apply(node)
    (tmp_path / "active").unlink()
    with pytest.raises(Failure, match=r"LFN142 .*timer does not run"):
        STEP.verify(node)
    STEP.apply(again(node))
    (tmp_path / CACHE.folder.lstrip("/")).chmod(0o755)
    with pytest.raises(Failure, match=r"LFN142 .*mode 1777"):
        STEP.verify(node)
    STEP.apply(again(node))
    STEP.verify(node)


def test_it_is_skipped_without_a_cache_or_its_mount(tmp_path: Path) -> None:
    assert STEP.skip(controller(tmp_path)) is None
    assert STEP.skip(make(tmp_path, training=None)) == "the fleet has no training runtime"
    none = replace(TRAINING, compile_cache=None)
    assert STEP.skip(make(tmp_path, training=none)) == "the fleet has no compile cache"
    others = (replace(FSX, groups=("workers",)),)
    assert "does not mount /fsx" in (STEP.skip(make(tmp_path, group=CONTROLLER, mounts=others)) or "")


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, controller, tmp_path) == 6


PROGRAM = Path(__file__).parents[3] / "lifecycle_scripts/node_files/training/clean_compile_cache.py"
VERSION = "neuronxcc-2.23.6484.0+3b612583"
DAY = 86400


def graph(cache: Path, name: str, *, age: float, size: int = 4096, whole: bool = True, lock: bool = True) -> Path:
    """A compiled graph that was last used `age` days ago."""
    folder = cache / VERSION / f"MODULE_{name}"
    folder.mkdir(parents=True)
    (folder / "model.hlo_module.pb").write_bytes(b"h")
    (folder / "compile_flags.json").write_text("[]")
    (folder / "model.neff").write_bytes(b"n" * size)
    if lock:
        (folder / "model.hlo_module.pb.lock").touch()
    if whole:
        (folder / "model.done").touch()
    for path in (*folder.iterdir(), folder):
        aged(path, age)
    return folder


def aged(path: Path, age: float) -> None:
    then = time.time() - age * DAY
    os.utime(path, (then, then))


def clean(cache: Path, *options: str, days: float = 30) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, str(cache), "--max-age-days", str(days), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def left(cache: Path) -> set[str]:
    return {path.name.removeprefix("MODULE_") for path in cache.glob("neuronxcc-*/*")}


def test_only_graphs_unused_for_too_long_are_removed(tmp_path: Path) -> None:
    graph(tmp_path, "old", age=31)
    graph(tmp_path, "young", age=29)
    said = clean(tmp_path)
    assert left(tmp_path) == {"young"}
    assert "2 graphs" in said
    assert "removed: 1" in said
    assert f"{VERSION}/MODULE_old, last used" in said


def test_above_the_size_limit_the_least_recently_used_are_removed(tmp_path: Path) -> None:
    for number in range(5):
        graph(tmp_path, str(number), age=10 - number, size=1 << 20)
    clean(tmp_path, "--max-gib", str(2.5 / 1024))
    assert left(tmp_path) == {"3", "4"}


@pytest.mark.parametrize(("name", "read", "written"), [("model.neff", 2, 100), ("model.hlo_module.pb.lock", 100, 2)])
def test_any_newer_time_counts_as_use(tmp_path: Path, name: str, read: float, written: float) -> None:
    """A read, on a file system that records the time, or a lock."""
    folder = graph(tmp_path, "a", age=100)
    now = time.time()
    os.utime(folder / name, (now - read * DAY, now - written * DAY))
    clean(tmp_path)
    assert left(tmp_path) == {"a"}


def test_a_graph_that_is_being_compiled_is_never_removed(tmp_path: Path) -> None:
    """A lock file is no evidence, because it is left behind. A day without changes is."""
    graph(tmp_path, "compiles", age=0.9, whole=False)
    graph(tmp_path, "compiles-without-lock", age=0.9, whole=False, lock=False)
    graph(tmp_path, "failed-yesterday", age=1.1, whole=False)
    graph(tmp_path, "just-made", age=0.01)
    clean(tmp_path, "--max-gib", "0", days=0.5)
    assert left(tmp_path) == {"compiles", "compiles-without-lock", "just-made"}


def test_other_files_in_the_folder_are_ignored(tmp_path: Path) -> None:
    others = ["notes.txt", "MODULE_x/model.done", "neuronxcc-1/readme", "neuronxcc-1/OTHER/model.done", "x/MODULE_1/a"]
    for name in others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        aged(tmp_path / name, 1000)
    clean(tmp_path, "--max-gib", "0")
    assert all((tmp_path / name).exists() for name in others)


def test_links_are_never_followed(tmp_path: Path) -> None:
    """All users can write to the folder: root must not remove another file through a link."""
    cache, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    precious = graph(elsewhere, "precious", age=1000)
    folder = graph(cache, "old", age=1000)
    for target, place in (
        (elsewhere / VERSION, cache / "neuronxcc-9"),
        (precious, cache / VERSION / "MODULE_linked"),
        (precious, folder / "inner"),
        (precious / "model.neff", folder / "file"),
    ):
        place.symlink_to(target)
        then = time.time() - 1000 * DAY
        os.utime(place, (then, then), follow_symlinks=False)
    aged(folder, 1000)
    clean(cache, "--max-gib", "0")
    assert sorted(path.name for path in precious.iterdir()) == [
        *("compile_flags.json", "model.done", "model.hlo_module.pb", "model.hlo_module.pb.lock", "model.neff"),
    ]
    assert not folder.exists()
    assert (cache / VERSION / "MODULE_linked").is_symlink()


def test_folders_in_a_graph_are_removed_with_it(tmp_path: Path) -> None:
    folder = graph(tmp_path, "old", age=100)
    (folder / "work/deep").mkdir(parents=True)
    (folder / "work/deep/file").write_text("x")
    for path in (folder / "work/deep/file", folder):
        aged(path, 100)
    clean(tmp_path)
    assert left(tmp_path) == set()


def test_a_removal_of_a_killed_run_is_completed(tmp_path: Path) -> None:
    (tmp_path / VERSION / ".llm-fleet-removed-MODULE_a").mkdir(parents=True)
    (tmp_path / VERSION / ".llm-fleet-removed-MODULE_a/model.neff").touch()
    clean(tmp_path)
    assert left(tmp_path) == set()


def test_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    graph(tmp_path, "old", age=100)
    assert "would be removed: 1" in clean(tmp_path, "--dry-run")
    assert left(tmp_path) == {"old"}


def test_a_missing_cache_folder_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path / "none", "--max-age-days", "1"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path}/none cannot be cleaned:")


def test_a_graph_used_during_the_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = graph(tmp_path, "old", age=31)
    graph(tmp_path, "other", age=31)
    spec = importlib.util.spec_from_file_location("cleaner", PROGRAM)
    assert spec
    assert spec.loader
    cleaner = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cleaner", cleaner)  # where dataclass looks up its module
    spec.loader.exec_module(cleaner)
    choose = cleaner.to_remove

    def use(*words: Any) -> Any:
        (old / "model.hlo_module.pb.lock").touch()
        return choose(*words)

    monkeypatch.setattr(cleaner, "to_remove", use)
    monkeypatch.setattr(sys, "argv", ["clean", str(tmp_path), "--max-age-days", "30"])
    assert cleaner.main() == 0
    assert left(tmp_path) == {"old"}
    assert "removed: 1" in capsys.readouterr().out
