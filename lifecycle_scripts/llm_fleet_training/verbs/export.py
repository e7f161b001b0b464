"""`export`: compiles a converted model for Neuron with the inference service's exporter, and checks the result."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any, Dict

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.serving import export as exporter
from llm_fleet_training.serving.check import MARKER, Folder, findings
from llm_fleet_training.serving.options import add_serving, serving_of
from llm_fleet_training.serving.server import Serving
from llm_fleet_training.serving.words import export_words
from llm_fleet_training.weights.model_folder import misses
from llm_fleet_training.weights.space import writing
from llm_fleet_training.weights.whole_folder import WholeFolder

SUMMARY = "compile the converted model for the Neuron server that will serve it"
NOTE = "export.json"
"""Options of the export; `register` checks against them, and the file is not uploaded."""
_PROGRAM = "optimum-cli"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--run-folder", required=True, type=Path, help="run folder")
    parser.add_argument("--model", type=Path, help="folder of the converted model; default: <run folder>/huggingface")
    parser.add_argument("--to", type=Path, help="target folder; default: <run folder>/exported")
    parser.add_argument("--image", default="", help="URI of the container image, recorded in the result")
    add_serving(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export, unless the folder is complete already; returns 0."""
    serving = serving_of(arguments)
    model: Path = (arguments.model or arguments.run_folder / "huggingface").absolute()
    if serving.compiles_itself:
        print(f"{serving.server} compiles models itself: register {model} without an export", flush=True)
        return 0
    lacking = misses(model, weights=True) if model.is_dir() else ["it does not exist"]
    if lacking:
        fail(Code.MODEL_FORMAT, f"{model} is not a complete model: {'; '.join(lacking)}")
    goal = WholeFolder(arguments.to or arguments.run_folder / "exported", marker=NOTE)
    note = {"asked": serving.requested, "source": _source(model), "server": serving.server}  # codespell:ignore asked
    there = goal.document()
    if there is not None and note.items() <= there.items():
        print(f"{goal.target} is exported already, for {_words(serving)}", flush=True)
        return 0
    if shutil.which(_PROGRAM) is None:
        fail(Code.EXPORT, f"{_PROGRAM} is not on this node's PATH: {os.environ.get('PATH', '')}")
    with goal.making() as part, writing(part):
        shutil.rmtree(part)
        _export(serving, model, part, note, arguments.image or None)
        goal.finish(note)
    print(f"{goal.target} is complete, for {_words(serving)}", flush=True)
    return 0


def _export(serving: Serving, model: Path, part: Path, note: Dict[str, Any], image: Any) -> None:
    """Run the exporter in this process, as in the service's task; its output goes to the log."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    words = export_words(
        serving.facts["exports"],
        serving.requested,
        cast_type=serving.usual["cast_type"],
        family=serving.instance["family"],
    )
    parameters = {
        "hub_id": None,
        "checkpoint": str(model),
        "model": str(part),
        "arguments": words,
        "marker": MARKER,
        "note": {
            "format": 1,
            "source": note["source"],
            "revision": None,
            "server": serving.server,
            "image": image,
            "target": serving.instance["target"],
        },
    }
    if exporter.main(parameters):
        fail(Code.EXPORT, f"{_PROGRAM} could not export {model} for {_words(serving)}")
    found = findings(serving.requested, Folder(str(part)))
    if found:
        fail(Code.EXPORT, f"the export does not meet the requirements of {serving.server}: {'; '.join(found)}")


def _source(model: Path) -> str:
    """Run and step of a model that `convert` wrote, else its folder."""
    try:
        said: Dict[str, Any] = json.loads((model / "convert.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return str(model)
    return f"{model} (step {said.get('step')}, parameters {said.get('parameters_sha256')})"


def _words(serving: Serving) -> str:
    return (
        f"{serving.server}: {serving.tensor_parallel} cores of {serving.instance['family']}, batches of "
        f"{serving.batch_size}, sequences of {serving.sequence_length}"
    )
