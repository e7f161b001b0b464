"""A name that is nowhere is refused by `bundle` as by the others."""

from pathlib import Path

import pytest

from tests.cli.canned_account import CannedAccount
from tests.cli.day_two.conftest import Say


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_bundle_of_nothing_is_not_written(say: Say, hyperpod: CannedAccount, options: tuple[str, ...]) -> None:
    hyperpod.refuses("DescribeCluster", "ListClusterNodes", code="ResourceNotFound", message="does not exist")
    hyperpod.says(DescribeLogGroups={"logGroups": []})
    code, _, err = say("bundle", "nosuch", "--kind", "hyperpod", "--no-session", *options)
    assert (code, "LF1008" in err, list(Path().glob("*.tar.gz"))) == (1, True, []), err


def test_a_bundle_of_what_may_not_be_asked_is_written(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster", "ListClusterNodes", "DescribeLogGroups")
    assert say("bundle", "ml", "--kind", "hyperpod", "--no-session")[0] == 3
    assert len(list(Path().glob("*.tar.gz"))) == 1
