"""Each rule reports nothing for a valid account, and one helpful problem for an invalid one."""

import pytest

from tests.rules.account import cases, key_cases, network_cases
from tests.rules.account.cases import Case
from tests.rules.account.commands import commands_in, why_not

CASES = [
    *cases.QUOTAS,
    *cases.OFFERINGS,
    *cases.PLANS,
    *cases.RESERVATIONS,
    *cases.BUCKETS,
    *cases.FILE_SYSTEMS,
    *key_cases.KEYS,
    *cases.IMAGES,
    *cases.MODELS,
    *network_cases.SUBNETS,
    *network_cases.GROUPS,
    *network_cases.NEW_RULES,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_rule_reports_one_problem_or_none(case: Case):
    assert [problem.code for problem in case.found] == ([] if case.code is None else [case.code])
    text = "\n".join(map(str, case.found))
    for words in case.words:
        assert words in text


@pytest.mark.parametrize("case", [case for case in CASES if case.found], ids=lambda case: case.name)
def test_commands_in_remedies_are_valid_for_the_aws_cli(case: Case):
    for problem in case.found:
        for command in commands_in(problem.remedy):
            assert why_not(command) == "", command


@pytest.mark.parametrize("case", [case for case in CASES if case.found], ids=lambda case: case.name)
def test_messages_end_without_a_period(case: Case):
    for problem in case.found:
        assert not problem.message.endswith(".")
        assert not problem.remedy.endswith(".")


def test_invalid_commands_are_found():
    assert "no operation" in why_not("aws service-quotas increase --service-code ec2")
    assert "no option" in why_not("aws ec2 describe-subnets --subnet subnet-1")
    assert "needs quota-code" in why_not(
        "aws service-quotas request-service-quota-increase --service-code ec2 --desired-value 3"
    )
