"""A watch where nobody can repaint, and what it bears."""

from collections.abc import Iterator

import pytest

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.nodes.sight import Sight, look
from llm_fleet.cli.nodes.watch import watch
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem
from tests.cli.nodes.made_nodes import listing, node


def refused(code: CommandCode) -> AwsRefusal:
    return AwsRefusal([Problem(code=code, message="Rate exceeded", remedy="wait")], subject="x")


def watched(*looks: Sight | AwsRefusal) -> BaseException:
    """Watch so many looks, then type Ctrl-C; return what ended it."""
    left: Iterator[Sight | AwsRefusal] = iter(looks)

    def one() -> Sight:
        found = next(left, None)
        if found is None:
            raise KeyboardInterrupt
        if isinstance(found, AwsRefusal):
            raise found
        return found

    with pytest.raises((KeyboardInterrupt, AwsRefusal)) as caught:
        watch(one, 5, sleep=lambda _: None)
    return caught.value


def test_in_a_pipe_each_table_follows_the_one_before(capsys: pytest.CaptureFixture[str]):
    ended = watched(look(listing(node()), None), look(listing(node(status="Failure")), None))
    assert isinstance(ended, KeyboardInterrupt)
    out = capsys.readouterr().out
    assert out.count("NODE ") == 2
    assert out.index("1 Running") < out.index("1 Failure")
    assert "\x1b" not in out


def test_throttling_is_borne_and_expired_credentials_are_not(capsys: pytest.CaptureFixture[str]):
    sight = look(listing(node()), None)
    assert isinstance(watched(sight, refused(CommandCode.THROTTLED), sight), KeyboardInterrupt)
    assert "AWS was not asked: Rate exceeded" in capsys.readouterr().out
    assert isinstance(watched(sight, refused(CommandCode.EXPIRED), sight), AwsRefusal)


def test_where_the_end_is_cut_off_what_somebody_should_look_at_stands_on_top():
    sight = look(listing(node(index=1), node(index=2, status="Failure")), None)
    lines = sight.top(Screen(width=150, colour=False, live=True)).splitlines()
    assert lines[0].startswith("ml-cluster: 2 nodes")
    assert lines[2].startswith("trn1-2")


def test_what_aws_says_does_not_steer_the_terminal():
    sight = look(listing(node(status="Failure", message="\x1b[2Jgone\nand more"), message="\x1b]0;x\x07whole"), None)
    text = sight.text(Screen(width=None, colour=False, live=False))
    assert "\x1b" not in text
    assert "[2Jgone and more" in text


@pytest.mark.parametrize(("width", "columns"), [(None, 2), (150, 2), (90, 0)])
def test_a_screen_of_medium_width_keeps_what_is_needed_at_night(width: int | None, columns: int):
    text = look(listing(node()), None).text(Screen(width=width, colour=False, live=False))
    assert text.splitlines()[0].split()[1:].count("INSTANCE") + text.splitlines()[0].split().count("TYPE") == columns
    assert "trn1-1" in text
