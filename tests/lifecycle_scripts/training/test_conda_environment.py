"""A Conda prefix of pinned archives, made with the drill's stand-in for conda."""

import io
import sys
import tarfile
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Environment, Package
from llm_fleet_node.node import Node
from llm_fleet_node.steps.training_environment import STEP
from tests.lifecycle_scripts.convergence import applied
from tests.lifecycle_scripts.training.training_node import (
    FOLDER,
    cached,
    make,
    marker,
    use_drill_fake,
    with_environment,
    with_files,
)

CONDA = Environment("conda-1", "conda", ("workers",), "/usr/bin/conda", (Package("tiny", "1.0"),), None)


def conda_node(root: Path) -> Node:
    node = with_environment(make(root), CONDA)
    use_drill_fake(root, "conda")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        for path, text in (("bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'), ("lib/tiny.txt", "tiny\n")):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return with_files(node, cached(node, out.getvalue(), "tiny-1.0-0.tar.bz2", name="tiny", kind="archive"))


def test_a_conda_prefix_is_made_only_of_pinned_archives(tmp_path: Path) -> None:
    node = conda_node(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    place = node.host.path(f"{FOLDER}/environments/conda-1")
    assert (place / "lib/tiny.txt").read_text() == "tiny\n"
    assert not node.host.path("/var/cache/llm-fleet/downloads/conda").exists()
    assert marker(node, f"{FOLDER}/environments/conda-1/.llm-fleet.json")["files"]["tiny"]["version"] == "1.0"
    assert applied(STEP, node) == []


def test_missing_conda_and_rejected_archives_are_reported(tmp_path: Path) -> None:
    node = conda_node(tmp_path)
    bad = with_files(node, cached(node, b"no archive", "tiny-1.0-0.tar.bz2", name="tiny", kind="archive"))
    with pytest.raises(Failure, match=r"(?s)LFN137 .*InvalidArchiveError"):
        STEP.apply(bad)
    (tmp_path / "usr/bin/conda").unlink()
    with pytest.raises(Failure, match=r"LFN137 .*has no /usr/bin/conda"):
        STEP.apply(node)
    assert not node.host.path(f"{FOLDER}/environments/conda-1").exists()
