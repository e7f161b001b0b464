"""`register`: uploads a model to the inference service's prefix in S3, and runs the service's check on it."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.serving.check import MARKER, Folder, findings
from llm_fleet_training.serving.options import add_serving, serving_of
from llm_fleet_training.serving.place import FINGERPRINT, Offered, Place
from llm_fleet_training.serving.server import PLAIN
from llm_fleet_training.verbs import convert, download, export
from llm_fleet_training.weights import aws
from llm_fleet_training.weights.space import in_words

SUMMARY = "upload the model to the service's prefix in S3, and check that the service accepts it"
_STAY = [convert.MARKER, download.MARKER, export.NOTE]
"""Metadata files of this run, which are not uploaded."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--run-folder", required=True, type=Path, help="run folder")
    parser.add_argument(
        "--to",
        required=True,
        metavar="s3://BUCKET/PREFIX",
        help="value of `model` in the service: s3://<bucket>/<prefix>",
    )
    parser.add_argument(
        "--model", type=Path, help="folder to upload; default: <run folder>/exported, else <run folder>/huggingface"
    )
    parser.add_argument(
        "--plain", action="store_true", help="upload the converted weights, for a server that compiles models itself"
    )
    parser.add_argument("--replace", action="store_true", help="overwrite another model at this prefix")
    add_serving(parser)


def run(arguments: argparse.Namespace) -> int:
    """Upload missing files; returns 0 when the service's check accepts the model."""
    folder, requested = _chosen(arguments)
    found = findings(requested, Folder(str(folder)))
    if found:
        fail(Code.EXPORT, f"{folder} does not meet the service's requirements: {'; '.join(found)}")
    place = Place(arguments.to)
    offered = Offered(folder, without=_STAY)
    print(f"{folder}: {len(offered.files)} files, {in_words(sum(offered.files.values()))}", flush=True)
    if _is_there(place, offered):
        print(f"{place.place} has this model already", flush=True)
    else:
        _make_way(place, offered, replace=arguments.replace)
        _upload(place, offered, _marker(folder, offered))
    _verify(place, offered, requested)
    print(f"the service accepts it: set `model: {place.place}`", flush=True)
    return 0


def _chosen(arguments: argparse.Namespace) -> Tuple[Path, Dict[str, Any]]:
    """The folder and its server's requirements: from the options of this verb, else from those of `export`."""
    exported, plain = arguments.run_folder / "exported", arguments.run_folder / "huggingface"
    serving = serving_of(arguments) if arguments.server or arguments.instance_type else None
    exported_with = _note(arguments.model or exported)
    if (
        arguments.plain
        or (serving is not None and serving.compiles_itself)
        or (serving is None and exported_with is None)
    ):
        folder, requested = arguments.model or plain, PLAIN
    else:
        folder = arguments.model or exported
        note = exported_with or {}
        requested = note["asked"] if serving is None else serving.requested  # codespell:ignore asked
    if not folder.is_dir() or not any(folder.iterdir()):
        fail(Code.MODEL_FORMAT, f"{folder} is empty: run the previous stages first")
    return folder, requested


def _note(folder: Path) -> Optional[Dict[str, Any]]:
    try:
        said: Dict[str, Any] = json.loads((folder / export.NOTE).read_text(encoding="utf-8"))
        return said
    except (OSError, ValueError):
        return None


def _is_there(place: Place, offered: Offered) -> bool:
    marker = place.marker()
    return marker is not None and marker.get(FINGERPRINT) == offered.fingerprint and not _differs(place, offered)


def _differs(place: Place, offered: Offered) -> List[str]:
    held = {name: size for name, size in place.sizes.items() if name != MARKER}
    return sorted(name for name in {*held, *offered.files} if held.get(name) != offered.files.get(name))


def _make_way(place: Place, offered: Offered, *, replace: bool) -> None:
    """Reject a prefix with other files; remove the marker first, so that an incomplete model is not served."""
    marker = place.marker()
    others = [name for name, size in place.sizes.items() if name != MARKER and offered.files.get(name) != size]
    # Only files of this model, without a marker or with its own: an interrupted upload of this model.
    taken = bool(others) or (marker is not None and marker.get(FINGERPRINT) != offered.fingerprint)
    if taken and not replace:
        said = f"of {marker.get('source')}" if marker and marker.get("source") else "that llm-fleet did not upload"
        fail(Code.PREFIX_NOT_EMPTY, f"{place.place} holds another model, {said}: {', '.join(sorted(place.sizes)[:3])}")
    if taken:
        print(
            f"{place.place} is overwritten in place: running tasks keep the old model in memory; new ones "
            "load this one, and a rollback of the service's stack to other sizes ends in UPDATE_ROLLBACK_FAILED (see "
            "docs/constructs/inference-service.md)",
            flush=True,
        )
    gone = [name for name in others if name not in offered.files]
    for name in [*([MARKER] if marker is not None else []), *gone]:
        place.remove(name)
    if gone:
        print(f"removed, since the new model has no such files: {', '.join(gone)}", flush=True)


def _upload(place: Place, offered: Offered, marker: Dict[str, Any]) -> None:
    """Upload all files, and the marker last: a prefix with a marker is always complete."""
    aws.copy_all(f"{offered.folder}/", f"{place.place}/", but=[MARKER, *_STAY])
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, MARKER)
        draft.write_text(json.dumps(marker, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        aws.copy(str(draft), f"{place.place}/{MARKER}")
    place.look()


def _marker(folder: Path, offered: Offered) -> Dict[str, Any]:
    """The metadata of the export, or of a model that is not compiled, with the fingerprint."""
    own = folder / MARKER
    if own.exists():
        said: Dict[str, Any] = json.loads(own.read_text(encoding="utf-8"))
    else:
        said = {"format": 1, "source": str(folder), "revision": None, "server": None, "image": None, "target": None}
    return {**said, FINGERPRINT: offered.fingerprint}


def _verify(place: Place, offered: Offered, requested: Dict[str, Any]) -> None:
    """Run the service's deployment check, which reads from S3."""
    differs = _differs(place, offered)
    if differs:
        fail(
            Code.SOURCE_UNREACHABLE,
            f"{place.place} differs from what was uploaded: {', '.join(differs[:3])}",
            final=False,
        )
    found = findings(requested, place)
    if found:
        fail(Code.EXPORT, f"the service would reject it: {'; '.join(found)}")
