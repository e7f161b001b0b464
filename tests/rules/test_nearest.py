import pytest

from llm_fleet.rules.values import did_you_mean, nearest

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
def test_it_offers_the_candidate_most_like_the_value(value: str, expected: str | None) -> None:
    assert nearest(value, TYPES) == expected


def test_the_offer_does_not_depend_on_the_order_of_the_candidates() -> None:
    candidates = ["worker-a", "worker-b", "worker-c"]
    assert nearest("worker-x", candidates) == nearest("worker-x", reversed(candidates))


def test_nothing_is_offered_from_no_candidates() -> None:
    assert nearest("ml.m5.xlarge", []) is None


def test_the_remedy_falls_back_when_nothing_is_near() -> None:
    assert did_you_mean("ml.m5.xlrage", TYPES, otherwise="see the list") == "write 'ml.m5.xlarge'"
    assert did_you_mean("banana", TYPES, otherwise="see the list") == "see the list"
