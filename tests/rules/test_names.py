import pytest

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.values import mend_hyphenated_name

LIMIT = Limit(minimum=1, maximum=8)


@pytest.mark.parametrize(
    ("name", "mended"),
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
def test_mended_name_has_the_form(name: str, mended: str) -> None:
    assert mend_hyphenated_name(name, LIMIT) == mended
