"""The page about notebooks tells of every parameter with its default."""

import inspect
import re

from llm_fleet import TrainingNotebook
from llm_fleet.catalog.notebook import notebook_facts
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "training-notebook.md").read_text(encoding="utf-8")
TIMER = (ROOT / "lifecycle_scripts/notebook_instance/systemd/llm-fleet-auto-stop.timer").read_text(encoding="utf-8")


def test_every_parameter_has_its_default_and_its_why():
    section = PAGE.split("## Parameters\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    told = {cells[0].strip("`"): cells[1:] for cells in rows[2:]}
    parameters = inspect.signature(TrainingNotebook.__init__).parameters
    assert set(told) == set(parameters) - {"self", "scope", "id"}
    assert all(len(cells) == 2 and all(cells) for cells in told.values())


def test_its_figures_are_the_catalogs():
    facts = notebook_facts()
    assert f"{facts.additional_repositories_max + 1} at most" in PAGE
    assert [f"`{prefix}`" in PAGE for prefix in facts.sdk_name_prefixes] == [True] * 3
    assert facts.platforms["notebook-al2-v3"].ended in re.findall(r"\d{4}-\d\d-\d\d", PAGE)
    assert "every five minutes" in PAGE
    assert "OnUnitInactiveSec=5min" in TIMER
