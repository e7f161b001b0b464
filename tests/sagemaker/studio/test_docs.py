"""The page about Studio tells of every parameter with its default, and of every code."""

import inspect
import re

from llm_fleet import StudioDomain
from llm_fleet.catalog.studio import studio_facts
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs/constructs/studio.md").read_text(encoding="utf-8")


def parameters_told() -> dict[str, list[str]]:
    section = PAGE.split("## Parameters\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {cells[0].strip("`"): cells[1:] for cells in rows[2:]}


def test_every_parameter_has_its_default_and_its_why():
    told, parameters = parameters_told(), inspect.signature(StudioDomain.__init__).parameters
    assert list(told) == [name for name in parameters if name not in ("self", "scope", "id")]
    assert all(len(cells) == 2 and all(cells) for cells in told.values())


def test_every_code_is_told():
    codes = [code.value for code in SageMakerCode if code.name.startswith("STUDIO_")]
    assert len(codes) == 10
    assert set(codes) <= set(re.findall(r"LF\d{3,4}", PAGE))


def test_numbers_are_those_of_the_catalog():
    facts = studio_facts()
    assert f"from {facts.uid.minimum} to {facts.uid.maximum}, groups from {facts.gid.minimum}" in PAGE
    assert facts.addresses_per_user == 4
    assert "Four for each user" in PAGE
