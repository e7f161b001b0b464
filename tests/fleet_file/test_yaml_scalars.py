"""Words with a special meaning for other YAML readers are plain text here."""

import pytest

from llm_fleet.fleet_file.document import plain_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("FALSE", False),
        ("13:30", "13:30"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("2026-12-01", "2026-12-01"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9" * 30, "9" * 30),
        ("4", 4),
        ("-4", -4),
        ("4.5", 4.5),
        ("", None),
        ("~", None),
        ("Null", None),
        ("2.15", 2.15),
    ],
)
def test_words_with_a_meaning_in_other_yaml_readers_are_plain_text(text: str, value: object) -> None:
    read = plain_scalar(text)
    assert read == value
    assert type(read) is type(value)
