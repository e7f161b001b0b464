"""The cache's folder is everybody's, and one node has a timer that looks through it."""

from dataclasses import replace
from pathlib import Path

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


def test_without_a_limit_of_size_there_is_none(tmp_path: Path) -> None:
    node = controller(tmp_path, replace(CACHE, max_gib=None))
    STEP.apply(node)
    assert "--max-gib" not in (node.host.read(f"{UNIT}.service") or "")


def test_odd_names_of_folders_are_one_word_of_the_unit(tmp_path: Path) -> None:
    node = controller(tmp_path, replace(CACHE, folder="/fsx/a b%c$d"))
    STEP.apply(node)
    assert "clean_compile_cache.py '/fsx/a b%%c$$d' --max" in (node.host.read(f"{UNIT}.service") or "")


@pytest.mark.parametrize("spoilt", [janitor.PROGRAM, f"{UNIT}.service", f"{UNIT}.timer"])
def test_what_was_changed_by_hand_is_told_and_mended(tmp_path: Path, spoilt: str) -> None:
    node = controller(tmp_path)
    STEP.apply(node)
    file(tmp_path, spoilt, "other")
    with pytest.raises(Failure, match=f"LFN142  {spoilt}"):
        STEP.verify(node)
    STEP.apply(again(node))
    STEP.verify(node)


def test_a_timer_that_was_stopped_and_a_folder_that_was_closed_are_told(tmp_path: Path) -> None:
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


def test_it_is_skipped_where_there_is_no_cache_or_no_way_to_it(tmp_path: Path) -> None:
    assert STEP.skip(controller(tmp_path)) is None
    assert STEP.skip(make(tmp_path, training=None)) == "the fleet asks for no training runtime"
    none = replace(TRAINING, compile_cache=None)
    assert STEP.skip(make(tmp_path, training=none)) == "the fleet keeps no compiled graphs"
    others = (replace(FSX, groups=("workers",)),)
    assert "does not mount /fsx" in (STEP.skip(make(tmp_path, group=CONTROLLER, mounts=others)) or "")


def test_killed_anywhere_it_ends_the_same(tmp_path: Path) -> None:
    assert converges(STEP, controller, tmp_path) == 6
