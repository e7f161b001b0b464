"""Nodes check and export models by the very files that the inference service does: generated copies, compared here."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.model_server import model_exports, model_servers
from llm_fleet.catalog.neuron import neuron_instance, neuron_instance_names
from llm_fleet.rules.inference.model import cast_type
from llm_fleet.spec.model_server import ServerKind, TgiServer
from tools.synth_environment import ROOT

ORIGINALS = ROOT / "constructs" / "llm_fleet" / "lifecycle"
COPIES = ROOT / "lifecycle_scripts" / "llm_fleet_training" / "serving"


def _servers() -> str:
    """What the exporting jobs need of the catalog, as they read it."""
    exports = model_exports()
    server = TgiServer()
    servers = {
        name: {
            "title": facts.title,
            "families": list(facts.families),
            "compiler": facts.compiler,
            "exports": asdict(exports[name]) if name in exports else None,
            "casts": name == ServerKind.TGI,
        }
        for name, facts in model_servers().items()
    }
    usual = {"batch_size": server.batch_size, "sequence_length": server.sequence_length, "cast_type": cast_type(server)}
    document = {"servers": servers, "instances": _instances(), "usual": usual}
    return json.dumps(document, indent=1) + "\n"


def _instances() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in neuron_instance_names():
        facts = neuron_instance(name)
        assert facts is not None
        cores, spreads = facts.cores, list(facts.tensor_parallel)
        found[name] = {"family": facts.family, "target": facts.target, "cores": cores, "tensor_parallel": spreads}
    return found


def _original(path: str) -> str:
    return (ORIGINALS / path).read_text(encoding="utf-8")


WANTED = {
    "check.py": lambda: _original("model_checker/check.py"),
    "export.py": lambda: _original("model_exporter/export.py"),
    "words.py": lambda: _original("model_exporter/words.py"),
    "servers.json": _servers,
}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_generated_copy_is_the_original(name: str):
    wanted, place = WANTED[name](), Path(COPIES, name)
    if os.environ.get("UPDATE_GOLDEN"):
        place.write_text(wanted, encoding="utf-8")
    assert place.read_text(encoding="utf-8") == wanted, f"{place} is not as its original: run `make golden`"
