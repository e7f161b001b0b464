"""An invalid value is unresolved for the rules: its consequences are not reported, all other errors are."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError, is_unresolved
from llm_fleet.rules.training.run_plan import divisors
from llm_fleet.spec.unknown import UNKNOWN, Incomplete
from tests.fleet_file.good_fleet import edited

EXAMPLES = Path(__file__).parents[2] / "examples"
WORKERS = "clusters.ml.groups.workers"
STEPS = "kind: hyperpod\n    scripts: {skip: [1, no_such_step]}"


def test_every_part_of_an_unknown_value_is_unknown() -> None:
    for part in (UNKNOWN, UNKNOWN.zones, UNKNOWN.count, UNKNOWN[0], UNKNOWN + 1, 2 * UNKNOWN.size, UNKNOWN.wrong("a")):
        assert is_unresolved(part)
    assert is_unresolved(math.ceil(UNKNOWN / 2))
    assert is_unresolved(f"{UNKNOWN / 2:.1f} GiB")
    assert is_unresolved(replace(UNKNOWN.wrong("a"), path=("b",)))


def test_an_unknown_value_contains_everything_and_is_in_every_range() -> None:
    assert "any" in UNKNOWN
    assert list(UNKNOWN) == []
    assert not UNKNOWN < 1
    assert not UNKNOWN > 1


def test_an_incomplete_mapping_has_the_valid_entries_and_contains_every_key() -> None:
    buckets = Incomplete({"data": 1})
    assert list(buckets) == ["data"]
    assert buckets["data"] == 1
    assert "models" in buckets
    assert is_unresolved(buckets.get("models"))


NEXT_TO = {
    "an invalid role, with a partition": (("role: compute", "role: worker"), {("LF114", f"{WORKERS}.role")}),
    "a misspelled key, read as the suggested one": (
        ("type: ml.trn1", "typ_: ml.trn1"),
        {("LF110", f"{WORKERS}.typ_")},
    ),
    "the bucket that is named was rejected": (
        ("{data: {}}", "{data: 1}", "kind: hyperpod", "kind: hyperpod\n    reads: [data]"),
        {("LF113", "storage.buckets.data")},
    ),
    "mistakes in addition to an invalid deployment": (
        ("size: 4800", "deployment: SCRATCH, data_repositories: [{path: a, s3: s3://one}], size: 4800"),
        {("LF114", "storage.fsx.deployment"), ("LF321", "storage.fsx.data_repositories[0].path")},
    ),
    "an item after an invalid one keeps its number": (
        ("kind: hyperpod", STEPS),
        {("LF113", "clusters.ml.scripts.skip[0]"), ("LF421", "clusters.ml.scripts.skip[1]")},
    ),
}


@pytest.mark.parametrize("what", NEXT_TO)
def test_consequences_are_not_reported_and_all_other_errors_are(what: str) -> None:
    edits, expected = NEXT_TO[what]
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(*edits))
    assert {(problem.code.value, problem.where) for problem in caught.value.problems} == expected, caught.value


IN_EXAMPLES = [
    ("sagemaker-endpoint", "hub: EleutherAI/gpt-j-6b", "hub: [gpt-j]", "LF113", "endpoints.gpt-j.model.hub"),
    (
        "sagemaker-full",
        'loss_nan: "step=([0-9]+) loss=nan"',
        "loss_nan: []",
        "LF113",
        "training_jobs.pretrain.metrics.loss_nan",
    ),
    (
        "hyperpod-full",
        "provisioning_parameters: false",
        "provisioning_parameters: no way",
        "LF113",
        "clusters.train.scripts.provisioning_parameters",
    ),
    ("hyperpod-drill", "lifecycle: OnCreate", "lifecycle: sometimes", "LF114", "clusters.train.lifecycle"),
]


@pytest.mark.parametrize(("example", "good", "bad", "code", "where"), IN_EXAMPLES)
def test_one_wrong_value_is_one_error(example: str, good: str, bad: str, code: str, where: str) -> None:
    text = (EXAMPLES / f"{example}.yaml").read_text(encoding="utf-8")
    assert good in text
    with pytest.raises(FleetError) as caught:
        parse_fleet(text.replace(good, bad, 1), directory=EXAMPLES)
    assert [(problem.code.value, problem.where) for problem in caught.value.problems] == [(code, where)], caught.value


def test_an_unknown_number_of_layers_has_no_divisors() -> None:
    assert divisors(UNKNOWN) == []
