"""Cloud assemblies of the examples' golden templates: what synth would write, without a synth."""

import json
from pathlib import Path
from typing import Any

from tools.synth_environment import ROOT

GOLDEN = ROOT / "tests" / "stacks" / "golden"
EXAMPLES = sorted(path.name for path in GOLDEN.iterdir())
DATABASE = ROOT / "tests" / "stacks" / "golden_database"


def golden_assembly(example: str, folder: Path) -> Path:
    """Write the assembly of `example` to `folder`, and return it."""
    templates = {path.stem: json.loads(path.read_text()) for path in sorted((GOLDEN / example).glob("*.json"))}
    return assembly_of(templates, folder)


def assembly_of(templates: dict[str, Any], folder: Path) -> Path:
    """Write an assembly of `templates` by the names of their stacks, all in us-west-2."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, template in templates.items():
        (folder / f"{name}.template.json").write_text(json.dumps(template))
    artifacts = {
        name: {
            "type": "aws:cloudformation:stack",
            "environment": "aws://111122223333/us-west-2",
            "properties": {"templateFile": f"{name}.template.json"},
        }
        for name in templates
    }
    (folder / "manifest.json").write_text(json.dumps({"version": "54.0.0", "artifacts": artifacts}))
    return folder
