"""What the page says of a job is what the code has: values and defaults, images, and where an estimator's words go."""

import re
from pathlib import Path
from typing import Any

import pytest

from llm_fleet import Distribution, TrainingImage, TrainingJobSpec
from llm_fleet.catalog.training_job import launchers, smp_versions, training_image_families, training_job_limit
from llm_fleet.config.load import parse_fleet
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.spec.training_job_words import OF_TRAINING_JOB
from tests.config.good_training_job import source_folder
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs/constructs/training-job.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_numbers_of_the_page_are_the_catalogs():
    limit = training_job_limit("HyperParameters").maximum
    assert f"92 at most: the container's own take the rest of the service's {limit}" in PAGE


def test_images_are_those_of_the_catalog():
    told = {cells[0]: cells[1:] for cells in rows("Images")}
    for family in training_image_families().values():
        default, others, _ = told[f"`{family.maker}()`"]
        assert default == family.default
        assert {default, *others.split(", ")} - {"none"} == set(family.versions)
    default, others, _ = told["`TrainingImage.smp()`"]
    assert (default, *others.split(", ")) == smp_versions()
    assert {re.findall(r"\.(\w+)\(", first)[0] for first in told} == makers_of(TrainingImage)
    until = training_image_families()["pytorch"].versions[training_image_families()["pytorch"].default].until
    assert f"patched until {until}" in " ".join(PAGE.split())


def makers_of(made: type) -> set[str]:
    return {name for name, member in vars(made).items() if isinstance(member, classmethod)} - {
        "from_shorthand",
        "shorthand_schemas",
        "in_python",
    }


def test_every_launcher_is_there():
    launcher_rows = {re.findall(r"\.(\w+)\(", cells[0])[0] for cells in rows("Distribution")}
    assert launcher_rows == makers_of(Distribution) == set(launchers())


def test_words_of_the_estimator_lead_to_what_there_is():
    fields = set(TrainingJobSpec.model_fields)
    keys = set(TrainingJobConfig.keys())
    for first, value, key in rows("From an estimator"):
        words = re.findall(r"`(\w+)`", first)
        assert words
        if value.startswith("left out"):
            assert len(key) == 1, "a dash"
            assert all(OF_TRAINING_JOB[word].startswith("leave it out") for word in words), words
            continue
        assert re.findall(r"`(\w+)`", value)[0] in fields
        written = re.findall(r"`(\w+)`", key)[0]
        assert written in keys
        for word in words:
            known = OF_TRAINING_JOB.get(word, "")
            assert word == written or f"`{written}" in known or word == "fit" or word in keys, word


def test_the_two_examples_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(source_folder(tmp_path))
    text = PAGE.split("```yaml\n")[1].split("```")[0]
    fleet = parse_fleet(text, directory=tmp_path)
    of_file = fleet.training_jobs["gpt2"].in_fleet(fleet.name, tags=fleet.tags).model_dump()
    python = PAGE.split("```python\n")[1].split("```")[0].split("TrainingJob(self")[0]
    names: dict[str, Any] = {}
    exec(python, names)
    of_python = names["job"].model_dump()
    assert of_file.pop("name") == f"small-{of_python.pop('name')}"
    assert of_file == of_python
