import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.regions import check_az_id, check_hyperpod_region, check_region

TOKEN = "${Token[AWS.Region.7]}"


def only(problems: list[Problem], code: Code) -> Problem:
    assert [problem.code for problem in problems] == [code]
    return problems[0]


@pytest.mark.parametrize("region", [None, TOKEN, "us-west-2", "eu-north-1", "sa-east-1"])
def test_regions_with_hyperpod(region: str | None) -> None:
    assert check_hyperpod_region(region) == []


@pytest.mark.parametrize(
    ("region", "remedy"),
    [
        ("us-west2", "write `us-west-2`"),
        ("us-wset-2", "write `us-west-2`"),
        ("us-west-2a", "write `us-west-2`: 'us-west-2a' is an AZ of it"),
        ("US-EAST-1", "write `us-east-1`"),
        ("Oregon", "write one of the allowed regions"),
        ("", "write one of the allowed regions"),
    ],
)
def test_unknown_regions_are_reported(region: str, remedy: str) -> None:
    problem = only(check_region(region), Code.REGION_UNKNOWN)
    assert problem.remedy == remedy
    assert "us-west-2" in problem.allowed
    assert check_hyperpod_region(region) == [problem]


@pytest.mark.parametrize("region", ["eu-west-3", "us-gov-west-1", "cn-north-1"])
def test_regions_without_hyperpod_are_reported(region: str) -> None:
    assert check_region(region) == []
    problem = only(check_hyperpod_region(region), Code.REGION_WITHOUT_HYPERPOD)
    assert problem.message == f"AWS does not offer HyperPod in {region}"
    assert region not in problem.allowed.split(", ")
    assert problem.remedy.split("`")[1] in problem.allowed.split(", ")


@pytest.mark.parametrize(
    ("region", "az_id"),
    [
        ("us-west-2", "usw2-az4"),
        ("us-west-2", "usw2-lax1-az1"),
        ("ap-southeast-1", "apse1-az1"),
        (None, "usw2-az4"),
        (TOKEN, "usw2-az4"),
        ("us-west-2", TOKEN),
        ("xx-new-1", "usw2-az4"),
    ],
)
def test_valid_az_ids_pass(region: str | None, az_id: str) -> None:
    assert check_az_id(region, az_id) == []


@pytest.mark.parametrize("region", ["us-west-2", None])
def test_an_az_name_is_reported(region: str | None) -> None:
    problem = only(check_az_id(region, "us-west-2a"), Code.ZONE_ID)
    assert "a different AZ in each account" in problem.message
    assert "`usw2-az1`" in problem.remedy


@pytest.mark.parametrize("az_id", ["", "az4", "usw2", "usw2-az", "usw2-az4 ", "USW2-AZ4", "4"])
def test_an_invalid_az_id_is_reported(az_id: str) -> None:
    problem = only(check_az_id("eu-west-1", az_id), Code.ZONE_ID)
    assert problem.message == "this is not an AZ id"
    assert "`euw1-az1`" in problem.remedy


def test_an_az_id_of_another_region_is_reported() -> None:
    problem = only(check_az_id("us-west-2", "use1-az4"), Code.ZONE_REGION)
    assert problem.message == "use1-az4 is in us-east-1, not in us-west-2"
    assert problem.remedy == "write an AZ id of us-west-2, e.g. `usw2-az1`, or set the region to us-east-1"


def test_an_az_id_of_an_unknown_region_is_reported() -> None:
    problem = only(check_az_id("us-west-2", "xyz1-az1"), Code.ZONE_REGION)
    assert problem.message == "xyz1-az1 is not in us-west-2"
