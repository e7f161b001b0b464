"""Rules of accounting beyond ParallelCluster's validators: remedies, tokens, and mistakes without a validator."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.slurm_database import check_accounting_fields
from tests.rules.parallelcluster.shapes import Database, changed

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
TOKEN = "${Token[TOKEN.7]}"
DATABASE = Database()
SLURMDBD = Database(endpoint=None, password_secret=None, slurmdbd_host="10.0.0.7", munge_key_secret=SECRET)


def test_valid_values_have_no_problems() -> None:
    assert check_accounting_fields(DATABASE) == []
    assert check_accounting_fields(SLURMDBD) == []


def test_tokens_pass() -> None:
    tokens = Database(endpoint=TOKEN, user_name=TOKEN, password_secret=TOKEN, database_name=f"slurm_{TOKEN}")
    assert check_accounting_fields(tokens) == []
    assert check_accounting_fields(changed(SLURMDBD, slurmdbd_host=TOKEN, munge_key_secret=TOKEN)) == []


@pytest.mark.parametrize(
    ("endpoint", "remedy"),
    [
        ("mysql://db.example.com", "db.example.com:3306"),
        ("//db.example.com/slurm", "db.example.com:3306"),
        ("db.example.com:99999", "db.example.com:3306"),
        ("slurm@db.example.com", "slurm:3306"),
    ],
)
def test_the_remedy_for_an_address_is_valid(endpoint: str, remedy: str) -> None:
    (problem,) = check_accounting_fields(changed(DATABASE, endpoint=endpoint))
    assert (problem.code, problem.path) == (Code.ACCOUNTING_ADDRESS, ("endpoint",))
    assert problem.value == f"{endpoint}:3306"
    assert remedy in problem.remedy
    host, _, port = remedy.partition(":")
    assert check_accounting_fields(changed(DATABASE, endpoint=host, port=int(port))) == []


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"user_name": "slurm # comment"}, Code.ACCOUNTING_USER, "user_name"),
        ({"user_name": "u" * 33}, Code.ACCOUNTING_USER, "user_name"),
        ({"database_name": "slurm\n"}, Code.ACCOUNTING_SCHEMA, "database_name"),
        ({"database_name": ""}, Code.ACCOUNTING_SCHEMA, "database_name"),
        ({"port": 0}, Code.ACCOUNTING_ADDRESS, "endpoint"),
        ({"endpoint": ""}, Code.ACCOUNTING_ADDRESS, "endpoint"),
    ],
)
def test_values_that_slurmdbd_cannot_use_are_reported(change: dict[str, Any], code: Code, path: str) -> None:
    """ParallelCluster's schema lets these through, by `$` before a line break, or because any text is valid."""
    (problem,) = check_accounting_fields(changed(DATABASE, **change))
    assert (problem.code, problem.path) == (code, (path,))


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"port": 0}, Code.ACCOUNTING_ADDRESS, "port"),
        ({"port": 70000}, Code.ACCOUNTING_ADDRESS, "port"),
        ({"slurmdbd_host": "tcp://dbd"}, Code.ACCOUNTING_ADDRESS, "slurmdbd_host"),
        ({"slurmdbd_host": "dbd:6819"}, Code.ACCOUNTING_ADDRESS, "slurmdbd_host"),
        ({"password_secret": SECRET}, Code.ACCOUNTING_PLACE, "password_secret"),
        ({"database_name": "slurm"}, Code.ACCOUNTING_PLACE, "database_name"),
    ],
)
def test_errors_in_an_external_slurmdbd_are_reported(change: dict[str, Any], code: Code, path: str) -> None:
    (problem,) = check_accounting_fields(changed(SLURMDBD, **change))
    assert (problem.code, problem.path) == (code, (path,))


def test_all_problems_are_reported_together() -> None:
    found = check_accounting_fields(
        Database(endpoint="/x y", user_name="", password_secret=None, database_name="A", slurmdbd_host="a b")
    )
    assert [problem.code for problem in found] == [
        Code.ACCOUNTING_PLACE,
        Code.ACCOUNTING_ADDRESS,
        Code.ACCOUNTING_SECRET,
        Code.ACCOUNTING_USER,
        Code.ACCOUNTING_SCHEMA,
        Code.ACCOUNTING_ADDRESS,
        Code.ACCOUNTING_MUNGE_KEY,
    ]


@pytest.mark.parametrize("field", ["password_secret", "munge_key_secret"])
@pytest.mark.parametrize(
    "given", ["the-name-of-it", "arn:aws:ssm:us-west-2:111122223333:parameter/secret", SECRET + "\n", "hunter2"]
)
def test_a_secret_is_named_by_its_arn_and_is_not_repeated(field: str, given: str) -> None:
    """ParallelCluster accepts neither a name nor an SSM parameter (PasswordSecretArnValidator)."""
    with pytest.raises(FleetError, match="LF116") as raised:
        changed(DATABASE, **{field: given})
    assert given not in str(raised.value)
