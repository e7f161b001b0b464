"""Training environments: made once on shared storage by one node of the group, and verified by all nodes.

A virtual environment or Conda prefix cannot be renamed, because its files contain its path. So it is built in its final
folder, and the path for jobs is a link that is made when it is complete. A broken one is built again in another folder,
and the link is replaced atomically: running jobs continue in the old one.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.log import stamp
from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.node import Node
from llm_fleet_node.training import conda, container, interpreter, marker, shared_files, storage, venv
from llm_fleet_node.training.build_once import build_once
from llm_fleet_node.training.layout import Layout
from llm_fleet_node.training.of_group import training_of
from llm_fleet_node.training.shared_lock import Held, SharedLock

_BUILDERS = {"venv": venv.build, "conda": conda.build}


def ensure(node: Node, environment: Environment, *, seconds: float) -> None:
    """Build the environment, or wait up to `seconds` for another node that builds it."""
    layout = Layout(training_of(node).folder)
    place = node.host.path(layout.environment(environment))
    if problem(place, environment) is None:
        return
    with storage.reported(str(place)), storage.readable_by_all():
        for folder in (layout.folder, layout.locks, layout.environments):
            node.host.path(folder).mkdir(parents=True, exist_ok=True)
        build_once(
            SharedLock(node.host.path(layout.locks), f"environment-{environment.name}"),
            is_done=lambda: problem(place, environment) is None,
            build=lambda held: _build(node, environment, place, held),
            say=node.say,
            seconds=seconds,
        )


def check(node: Node, environment: Environment) -> None:
    """Raise `Failure` unless the environment is complete and runs on this node."""
    place = node.host.path(Layout(training_of(node).folder).environment(environment))
    wrong = problem(place, environment)
    if wrong:
        fail(Code.ENVIRONMENT, wrong)
    if environment.kind == "container":
        return
    version = interpreter.ask(node.host, f"{place}/bin/python")
    reported = ".".join(map(str, version))
    document = shared_files.read_document(place / marker.NAME) or {}
    if document.get("python") != reported:
        # Another patch release can run it; another minor release does not use its package folder.
        if tuple(str(document.get("python")).split(".")[:2]) != tuple(reported.split(".")[:2]):
            fail(Code.INTERPRETER, f"{place} was built with Python {document.get('python')}, this node has {reported}")
        node.say(f"{environment.name} was built with Python {document.get('python')}, but here it runs on {reported}")


def problem(place: Path, environment: Environment) -> Optional[str]:
    """Return why `place` is not the complete environment; `None` if it is."""
    if environment.kind == "container":
        return container.problem(place, environment)
    return marker.problem(place, environment)


def _build(node: Node, environment: Environment, place: Path, held: Held) -> None:
    began = time.monotonic()
    node.say(f"building {environment.name} at {place}")
    if environment.kind == "container":
        container.build(node, environment, place, held)
    else:
        _build_prefix(node, environment, place, held)
    node.say(f"built {environment.name} in {time.monotonic() - began:.0f} s")


def _build_prefix(node: Node, environment: Environment, place: Path, held: Held) -> None:
    folder = node.host.path(Layout(training_of(node).folder).built) / environment.name
    _remove_halves(folder)
    folder.mkdir(parents=True, exist_ok=True)
    prefix = folder / shared_files.unique()
    contents = _BUILDERS[environment.kind](node, environment, prefix, held)
    marker.write(prefix, environment, {**contents, "made_by": os.uname().nodename, "made_at": stamp(time.time())})
    node.host.changes.append(f"marked {prefix} as complete")
    held.check()
    shared_files.link(place, os.path.relpath(prefix, place.parent))
    node.host.changes.append(f"linked {place} to {prefix}")


def _remove_halves(folder: Path) -> None:
    """Remove leftovers of interrupted builds. Complete environments are kept: jobs may run in them."""
    for left in folder.iterdir() if folder.is_dir() else ():
        if not (left / marker.NAME).exists():
            shutil.rmtree(left, ignore_errors=True)
