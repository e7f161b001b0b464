"""One mistake, one error: consequences of a mistake are not reported in addition."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from tests.fleet_file.good_fleet import edited

GROUPS = "clusters.ml.groups"
NETWORK = "network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}"
WORKERS = "workers: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}"
EVERYWHERE = ("size: 4800 GiB", "az: usw2-az4, size: 4800 GiB", "count: 4", "count: 4, az: usw2-az4")
TWO_AZS = ("az: usw2-az4, compute_cidr: 10.1.0.0/23", "azs: [usw2-az4, usw2-az2]")
PLAN = "training_plan: 'arn:aws:sagemaker:us-west-2:111122223333:training-plan/p'"

MISTAKES = {
    "a required key without a value": (("count: 4", "count: "), "LF112", f"{GROUPS}.workers.count"),
    "a fleet without a name": (("fleet: test", "fleet:"), "LF112", "fleet"),
    "empty text": (("partition: trn1", "partition: ''"), "LF112", f"{GROUPS}.workers.partition"),
    "a list item without a value": (
        ("data: {}}", "data: {}}\ntags: {a: b}", "kind: hyperpod", "kind: hyperpod\n    reads: [~]"),
        "LF112",
        "clusters.ml.reads[0]",
    ),
    "a group written twice": ((WORKERS, f"{WORKERS}\n      {WORKERS}"), "LF107", f"{GROUPS}.workers"),
    "an invalid count, with a minimum": (
        ("count: 4", "count: four, min_count: 2"),
        "LF113",
        f"{GROUPS}.workers.count",
    ),
    "types that are not a list": (("type: ml.trn1", "types: ml.trn1"), "LF113", f"{GROUPS}.workers.types"),
    "types with a wrong item": (("type: ml.trn1.32xlarge", "types: [1]"), "LF113", f"{GROUPS}.workers.types[0]"),
    "an invalid region, with a plan": (
        ("us-west-2", "us-west-22", "count: 4", f"count: 4, {PLAN}"),
        "LF558",
        "region",
    ),
    "an invalid network": ((*EVERYWHERE, NETWORK, "network: usw2-az4"), "LF113", "network"),
    "an AZ with a misspelled key": ((*EVERYWHERE, NETWORK, "network: {ax: usw2-az4}"), "LF110", "network.ax"),
    "an AZ without a value": ((*EVERYWHERE, NETWORK, "network: {az: }"), "LF112", "network.az"),
    "an AZ by its name": ((*EVERYWHERE, "network: {az: usw2-az4", "network: {az: us-west-2a"), "LF208", "network.az"),
    "a file system in an AZ by its name": (("size: 4800", "az: us-west-2a, size: 4800"), "LF208", "storage.fsx.az"),
    "a cluster in another AZ than its file system": (
        (*TWO_AZS, "size: 4800", "az: usw2-az4, size: 4800", "kind: hyperpod", "kind: hyperpod\n    az: usw2-az2"),
        "LF534",
        "clusters.ml.az",
    ),
    "a home in another AZ than the cluster": (
        (*TWO_AZS, "  buckets:", "  home: {az: usw2-az2}\n  buckets:"),
        "LF534",
        "clusters.ml.az",
    ),
    "invalid buckets": (
        ("{data: {}}", "[data]", "kind: hyperpod", "kind: hyperpod\n    reads: [data]"),
        "LF113",
        "storage.buckets",
    ),
    "a size that is too large": (("4800 GiB", "999999999 GiB"), "LF302", "storage.fsx.size"),
    "a Lustre size that is not available": (
        ("size: 4800", "version: '3.0', efa: true, metadata_iops: 12000, import: s3://one, size: 19200"),
        "LF306",
        "storage.fsx.version",
    ),
    "a script for all groups": (
        ("kind: hyperpod", "kind: hyperpod\n    scripts: {entry_point: /etc/passwd}"),
        "LF523",
        "clusters.ml.scripts.entry_point",
    ),
    "a cluster without groups": (
        (
            "      controller: {role: controller, type: ml.m5.xlarge, count: 1}\n",
            "",
            f"      {WORKERS}\n",
            "",
            "    groups:",
            "    groups: {}",
        ),
        "LF503",
        GROUPS,
    ),
    "a controller with a negative count": (
        ("xlarge, count: 1", "xlarge, count: -1"),
        "LF518",
        f"{GROUPS}.controller.count",
    ),
    "a misspelled required key of the fleet": (("region:", "regoin:"), "LF110", "regoin"),
    "a misspelled required key of a group": (("compute, type:", "compute, typ:"), "LF110", f"{GROUPS}.workers.typ"),
    "another key for a required key": (("fleet: test", "name: test"), "LF110", "name"),
    "a misspelled kind": (("kind: hyperpod", "knd: hyperpod"), "LF110", "clusters.ml.knd"),
    "a mount at the root": (
        ("size: 4800", "mount: /, size: 4800", "  buckets:", "  home: {}\n  buckets:"),
        "LF536",
        "storage.fsx.mount",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_reported_once(mistake: str) -> None:
    edits, code, where = MISTAKES[mistake]
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(*edits))
    assert [(problem.code.value, problem.where) for problem in caught.value.problems] == [(code, where)], caught.value


def test_independent_mistakes_are_all_reported() -> None:
    """Independent mistakes are separate errors, even if one could hide another."""
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited("us-west-2", "us-west-22", "count: 4", "count: four", "4800 GiB", "1300 GiB"))
    assert {problem.code.value for problem in caught.value.problems} == {"LF558", "LF113", "LF302"}


def test_a_tag_can_be_empty() -> None:
    assert parse_fleet(edited("fleet: test", "fleet: test\ntags: {spare: ''}")).tags == {"spare": ""}


def test_an_unknown_key_with_another_suggestion_does_not_hide_a_missing_key() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited("count: 4", "replicas: 4"))
    assert [problem.code.value for problem in caught.value.problems] == ["LF111", "LF110"]


@pytest.mark.parametrize(
    ("edits", "remedy"),
    [
        ((NETWORK, "network: no"), "`network: {az: usw2-az4}`"),
        (("    groups:\n      controller", "    machines:\n      controller"), "`groups: {controller: "),
    ],
)
def test_a_remedy_shows_a_valid_example(edits: tuple[str, ...], remedy: str) -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(*edits))
    assert any(remedy in problem.remedy for problem in caught.value.problems), caught.value
