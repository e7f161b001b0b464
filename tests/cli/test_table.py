"""Tables that fit the terminal."""

from rich.cells import cell_len

from llm_fleet.cli.screen import Screen, Tone, Toned
from llm_fleet.cli.table import Cell, Column, Table

COLUMNS = (
    Column(key="node", title="NODE"),
    Column(key="state", title="STATE"),
    Column(key="gone", title="GONE"),
    Column(key="count", title="COUNT", right=True),
    Column(key="message", title="MESSAGE", wraps=True),
)
ROWS: list[dict[str, Cell]] = [
    {
        "node": "trn1-1",
        "state": Toned("Running", Tone.GOOD),
        "count": 9,
        "message": "all is well here, as far as known",
    },
    {"node": "trn1-10", "state": "Failure", "count": 10, "message": None},
]
TABLE = Table(columns=COLUMNS, rows=ROWS)


def screen(width: int | None, *, color: bool = False) -> Screen:
    return Screen(width=width, color=color, live=False)


def test_in_a_pipe_each_row_is_a_line_and_empty_columns_are_left_out():
    assert TABLE.text(screen(None)).splitlines() == [
        "NODE     STATE    COUNT  MESSAGE",
        "trn1-1   Running      9  all is well here, as far as known",
        "trn1-10  Failure     10  -",
    ]


def test_a_narrower_terminal_wraps_the_text():
    assert TABLE.text(screen(50)).splitlines()[1:3] == [
        "trn1-1   Running      9  all is well here, as far",
        "                         as known",
    ]


def test_forty_columns_show_blocks_with_all_values():
    text = TABLE.text(screen(40))
    assert text.splitlines() == [
        "trn1-1",
        "  state: Running",
        "  count: 9",
        "  message: all is well here, as far as",
        "  known",
        "trn1-10",
        "  state: Failure",
        "  count: 10",
    ]
    assert all(cell_len(line) <= 40 for line in text.splitlines())


def test_words_longer_than_the_terminal_are_broken_and_wide_characters_counted():
    table = Table(columns=COLUMNS[:2], rows=[{"node": "n" * 50, "state": "机器" * 20}])
    lines = table.text(screen(40)).splitlines()
    assert all(cell_len(line) <= 40 for line in lines[1:])
    assert "".join(line.strip() for line in lines[1:]).replace("state: ", "").replace("state:", "") == "机器" * 20


def test_tones_are_shown_only_with_colors():
    assert "\x1b[32mRunning\x1b[0m" in TABLE.text(screen(None, color=True))
    assert "\x1b" not in TABLE.text(screen(None))


def test_control_characters_are_removed():
    reported = Table(columns=COLUMNS[:1], rows=[{"node": "a\x1b[2Jb\nc\u202ed"}]).text(screen(None))
    assert reported == "NODE\na[2Jb cd\n"


def test_a_table_without_rows_is_empty():
    assert Table(columns=COLUMNS, rows=[]).text(screen(80)) == ""
