"""Cloud assemblies of templates that tests have at hand: what synth would write, without a synth."""

import json
from pathlib import Path
from typing import Any

from tools.synth_environment import ROOT

DATABASE = ROOT / "tests" / "stacks" / "golden_database"


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
