"""Writes constructs/llm_fleet/catalog/data/job_settings.json from the batch files themselves."""

import json
from typing import Any

from llm_fleet.jobs.batch_file import ORDER, RUN, SUFFIX, BatchFile, node_count, template
from tools.synth_environment import ROOT

PLACE = ROOT / "constructs" / "llm_fleet" / "catalog" / "data" / "job_settings.json"


def text() -> str:
    """Return the file as it should be."""
    document = {
        "what": "settings of the training stages' batch files",
        "source": "lifecycle_scripts/jobs, by tools/make_job_settings.py (`make golden`)",
        "checked": None,
        "facts": {"run": _facts(RUN), "stages": {name: _facts(name) for name in ORDER}},
    }
    return json.dumps(document, indent=2) + "\n"


def _facts(name: str) -> dict[str, Any]:
    file = BatchFile.parse(template(name))
    return {
        "file": name if name == RUN else f"{name}{SUFFIX}",
        "summary": file.summary,
        "nodes": node_count(file) or 0,
        "settings": {
            one.name: {"text": one.text, "default": one.value, "comment": one.comment} for one in file.settings
        },
    }


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
