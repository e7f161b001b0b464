"""How big and how fast a Lustre file system may be, and what is offered when it may not."""

from typing import Any

import pytest

from llm_fleet.catalog.lustre import lustre_variants
from llm_fleet.rules.codes import Code
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem

TOKEN: Any = -1.888154589708e289
"""As the CDK encodes a number that is known only at deploy time."""


def wishing(**wishes: Any) -> LustreSettings:
    return LustreSettings(**wishes)


def only(**wishes: Any) -> Problem:
    """The one problem that these wishes have."""
    (problem,) = check_lustre(LustreSettings(**wishes))
    return problem


@pytest.mark.parametrize("variant", lustre_variants(), ids=str)
def test_the_defaults_of_every_variant_are_sold(variant: Any):
    settings = LustreSettings(deployment_type=variant.deployment_type, storage_type=variant.storage_type)
    assert check_lustre(settings) == []
    assert (
        check_lustre(
            LustreSettings(
                deployment_type=variant.deployment_type,
                storage_type=variant.storage_type,
                storage_capacity_gib=settings.effective_capacity_gib,
                per_unit_storage_throughput=settings.effective_throughput,
                throughput_capacity=settings.effective_throughput_capacity,
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("wishes", "offer"),
    [
        ({"storage_capacity_gib": 1300}, "take 1200 GiB or 2400 GiB"),
        ({"storage_capacity_gib": 3600}, "take 2400 GiB or 4800 GiB"),
        ({"storage_capacity_gib": 1}, "take 1200 GiB"),
        ({"storage_capacity_gib": -2400}, "take 1200 GiB"),
        ({"storage_capacity_gib": 0}, "take 1200 GiB"),
        ({"deployment_type": "SCRATCH_1", "storage_capacity_gib": 4800}, "take 3600 GiB or 7200 GiB"),
        ({"deployment_type": "SCRATCH_2", "storage_capacity_gib": 1300}, "take 1200 GiB or 2400 GiB"),
        (
            {
                "deployment_type": "PERSISTENT_1",
                "storage_type": "HDD",
                "per_unit_storage_throughput": 12,
                "storage_capacity_gib": 7200,
            },
            "take 6000 GiB or 12000 GiB",
        ),
        (
            {"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "storage_capacity_gib": 6000},
            "take 5400 GiB or 7200 GiB",
        ),
    ],
)
def test_a_size_that_is_not_sold_is_answered_with_those_beside_it(wishes: dict[str, Any], offer: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.LUSTRE_CAPACITY, ("storage_capacity_gib",))
    assert problem.value == wishes["storage_capacity_gib"]
    assert problem.remedy == offer


def test_persistent_2_at_200_is_answered_with_the_throughputs_beside_it():
    problem = only(per_unit_storage_throughput=200)
    assert (problem.code, problem.path) == (Code.LUSTRE_THROUGHPUT, ("per_unit_storage_throughput",))
    assert problem.message == "PERSISTENT_2 is not sold with 200 MB/s/TiB"
    assert problem.allowed == "125, 250, 500 or 1000 MB/s/TiB"
    assert problem.remedy == "take 125 MB/s/TiB or 250 MB/s/TiB"


@pytest.mark.parametrize("deployment_type", ["SCRATCH_1", "SCRATCH_2"])
def test_scratch_takes_no_throughput(deployment_type: str):
    problem = only(deployment_type=deployment_type, per_unit_storage_throughput=200)
    assert problem.code == Code.LUSTRE_THROUGHPUT
    assert problem.remedy == "leave it out, or use PERSISTENT_2 to choose a throughput"


def test_a_bad_throughput_and_a_bad_size_are_told_together():
    problems = check_lustre(LustreSettings(per_unit_storage_throughput=200, storage_capacity_gib=1300))
    assert {problem.code for problem in problems} == {Code.LUSTRE_THROUGHPUT, Code.LUSTRE_CAPACITY}


def test_intelligent_tiering_is_elastic():
    problem = only(storage_type="INTELLIGENT_TIERING", storage_capacity_gib=1200)
    assert (problem.code, problem.remedy) == (Code.LUSTRE_CAPACITY, "leave the size out, or use SSD storage")


def test_intelligent_tiering_has_its_throughput_as_a_whole():
    problem = only(storage_type="INTELLIGENT_TIERING", per_unit_storage_throughput=250)
    assert problem.code == Code.LUSTRE_THROUGHPUT
    assert "throughput_capacity" in problem.remedy
    problem = only(storage_type="INTELLIGENT_TIERING", throughput_capacity=6000)
    assert problem.remedy == "take 4000 MB/s or 8000 MB/s"
    problem = only(storage_type="INTELLIGENT_TIERING", throughput_capacity=2_004_000)
    assert problem.remedy == "take 2000000 MB/s"


def test_other_storage_has_no_throughput_as_a_whole():
    problem = only(throughput_capacity=4000)
    assert (problem.code, problem.path) == (Code.LUSTRE_THROUGHPUT, ("throughput_capacity",))


@pytest.mark.parametrize(
    ("wishes", "path", "remedy"),
    [
        ({"deployment_type": "PERSISTANT_2"}, "deployment_type", "write 'PERSISTENT_2'"),
        ({"deployment_type": "persistent-1"}, "deployment_type", "write 'PERSISTENT_1'"),
        ({"deployment_type": "EFS"}, "deployment_type", "write 'PERSISTENT_2'"),
        ({"storage_type": "HDD"}, "storage_type", "write 'SSD', or use PERSISTENT_1 for HDD storage"),
        (
            {"deployment_type": "SCRATCH_2", "storage_type": "INTELLIGENT_TIERING"},
            "storage_type",
            "write 'SSD', or use PERSISTENT_2 for INTELLIGENT_TIERING storage",
        ),
    ],
)
def test_types_that_do_not_go_together(wishes: dict[str, Any], path: str, remedy: str):
    problem = only(**wishes)
    assert (problem.code, problem.path, problem.remedy) == (Code.LUSTRE_TYPE, (path,), remedy)


@pytest.mark.parametrize(
    "name", ["storage_capacity_gib", "per_unit_storage_throughput", "metadata_iops", "backup_retention_days"]
)
def test_what_is_known_only_at_deploy_time_is_let_pass(name: str):
    assert check_lustre(wishing(**{name: TOKEN})) == []


def test_a_type_that_is_known_only_at_deploy_time_is_let_pass():
    token = "${Token[TOKEN.42]}"
    assert check_lustre(LustreSettings(deployment_type=token, storage_capacity_gib=1300)) == []
