"""Rules of plain values: names, nearest candidates, cron expressions."""

import pytest

from llm_fleet.catalog.data_file import Limit
from llm_fleet.rules.values import CRON_EXAMPLE, cron_fault, did_you_mean, fix_hyphenated_name, nearest

LIMIT = Limit(minimum=1, maximum=8)


@pytest.mark.parametrize(
    ("name", "repaired"),
    [
        ("a_b", "a-b"),
        ("a__ b", "a-b"),
        ("-ab-", "ab"),
        ("abcdefghij", "abcdefgh"),
        ("abcdefg-hij", "abcdefg"),
        ("good-1", "good-1"),
        ("_", ""),
        ("", ""),
    ],
)
def test_a_fixed_name_is_valid(name: str, repaired: str) -> None:
    assert fix_hyphenated_name(name, LIMIT) == repaired


TYPES = ["ml.trn1.32xlarge", "ml.trn1n.32xlarge", "ml.m5.xlarge", "ml.p5.48xlarge"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ml.trn1.32xlrage", "ml.trn1.32xlarge"),
        ("ML.TRN1.32XLARGE", "ml.trn1.32xlarge"),
        (" ml.m5.xlarge ", "ml.m5.xlarge"),
        ("ml.p5.48xl", "ml.p5.48xlarge"),
        ("banana", None),
        ("", None),
    ],
)
def test_the_nearest_candidate_is_suggested(value: str, expected: str | None) -> None:
    assert nearest(value, TYPES) == expected


def test_the_suggestion_does_not_depend_on_the_order_of_the_candidates() -> None:
    candidates = ["worker-a", "worker-b", "worker-c"]
    assert nearest("worker-x", candidates) == nearest("worker-x", reversed(candidates))


def test_without_candidates_nothing_is_suggested() -> None:
    assert nearest("ml.m5.xlarge", []) is None


def test_without_a_near_candidate_the_remedy_is_the_default() -> None:
    assert did_you_mean("ml.m5.xlrage", TYPES, otherwise="see the list") == "write `ml.m5.xlarge`"
    assert did_you_mean("banana", TYPES, otherwise="see the list") == "see the list"


@pytest.mark.parametrize(
    "expression",
    [
        CRON_EXAMPLE,
        "cron(0 10 * * ? *)",
        "cron(15 12 ? * MON-FRI *)",
        "cron(0/15 8-17 ? * 2-6 2026-2030)",
        "cron(0 8 1 JAN,jul ? *)",
        "cron(0 18 L * ? *)",
        "cron(0 18 LW * ? *)",
        "cron(0 18 15W * ? *)",
        "cron(0 9 ? * 2#1 *)",
        "cron(0 9 ? * FRIL *)",
        "cron(*/5 * * * ? *)",
    ],
)
def test_valid_cron_expressions_pass(expression: str) -> None:
    assert cron_fault(expression) is None


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("rate(5 minutes)", "must have the form cron(…)"),
        ("", "must have the form cron(…)"),
        ("cron()", "has 0 fields, and must have 6"),
        ("cron(0 3 * * ?)", "has 5 fields, and must have 6 (the sixth is the year)"),
        ("cron(0 3 * * * *)", "must have ? in exactly one of its day-of-month and day-of-week fields"),
        ("cron(0 3 ? * ? *)", "must have ? in exactly one of its day-of-month and day-of-week fields"),
        ("cron(60 3 * * ? *)", "has '60' as minute, which must be 0 to 59"),
        ("cron(0 24 * * ? *)", "has '24' as hour, which must be 0 to 23"),
        ("cron(0 3 32 * ? *)", "has '32' as day of the month, which must be 1 to 31"),
        ("cron(0 3 0 * ? *)", "has '0' as day of the month, which must be 1 to 31"),
        ("cron(0 3 * 13 ? *)", "has '13' as month, which must be 1 to 12 or JAN to DEC"),
        ("cron(0 3 ? * 0 *)", "has '0' as day of the week, which must be 1 to 7 or SUN to SAT"),
        ("cron(0 3 ? * SUNDAY *)", "has 'SUNDAY' as day of the week, which must be 1 to 7 or SUN to SAT"),
        ("cron(0 3 ? * 2#6 *)", "has '2#6' as day of the week, which must be 1 to 7 or SUN to SAT"),
        ("cron(0 3 * * ? 1969)", "has '1969' as year, which must be 1970 to 2199"),
        ("cron(0/0 3 * * ? *)", "has '0/0' as minute, which must be 0 to 59"),
        ("cron(30-10 3 * * ? *)", "has '30-10' as minute, which must be 0 to 59"),
        ("cron(1- 3 * * ? *)", "has '1-' as minute, which must be 0 to 59"),
        ("cron(0, 3 * * ? *)", "has '0,' as minute, which must be 0 to 59"),
        ("cron(? 3 * * ? *)", "has '?' as minute, which must be 0 to 59"),
    ],
)
def test_invalid_cron_expressions_are_reported(expression: str, fault: str) -> None:
    assert cron_fault(expression) == fault
