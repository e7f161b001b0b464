"""What ParallelCluster's validators do not say of accounting: the remedies, tokens, and what has no validator."""

from typing import Any

import pytest

from llm_fleet.rules.accounting import check_accounting_fields
from llm_fleet.rules.codes import Code
from tests.rules.parallelcluster.shapes import Database, changed

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
TOKEN = "${Token[TOKEN.7]}"
DATABASE = Database()
SLURMDBD = Database(
    database_uri=None, user_name=None, password_secret_arn=None, slurmdbd_host="10.0.0.7", munge_key_secret_arn=SECRET
)


def test_good_ones() -> None:
    assert check_accounting_fields(DATABASE) == []
    assert check_accounting_fields(SLURMDBD) == []


def test_tokens_pass() -> None:
    tokens = Database(
        database_uri=f"{TOKEN}:3306", user_name=TOKEN, password_secret_arn=TOKEN, database_name=f"slurm_{TOKEN}"
    )
    assert check_accounting_fields(tokens) == []
    assert check_accounting_fields(changed(SLURMDBD, slurmdbd_host=TOKEN, munge_key_secret_arn=TOKEN)) == []


@pytest.mark.parametrize(
    ("uri", "remedy"),
    [
        ("mysql://db.example.com", "db.example.com:3306"),
        ("//db.example.com:3306/slurm", "db.example.com:3306"),
        ("db.example.com:99999", "db.example.com:3306"),
        ("slurm@db.example.com", "slurm:3306"),
    ],
)
def test_the_remedy_for_an_address_is_one(uri: str, remedy: str) -> None:
    (problem,) = check_accounting_fields(changed(DATABASE, database_uri=uri))
    assert (problem.code, problem.path, problem.value) == (Code.ACCOUNTING_ADDRESS, ("database_uri",), uri)
    assert remedy in problem.remedy
    assert check_accounting_fields(changed(DATABASE, database_uri=remedy)) == []


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"user_name": "slurm # comment"}, Code.ACCOUNTING_USER, "user_name"),
        ({"user_name": "u" * 33}, Code.ACCOUNTING_USER, "user_name"),
        ({"password_secret_arn": SECRET + "\n"}, Code.ACCOUNTING_SECRET, "password_secret_arn"),
        ({"database_name": "slurm\n"}, Code.ACCOUNTING_SCHEMA, "database_name"),
        ({"database_name": ""}, Code.ACCOUNTING_SCHEMA, "database_name"),
        ({"database_uri": "db.example.com:0"}, Code.ACCOUNTING_ADDRESS, "database_uri"),
        ({"database_uri": ""}, Code.ACCOUNTING_ADDRESS, "database_uri"),
    ],
)
def test_what_slurmdbd_could_not_use(change: dict[str, Any], code: Code, path: str) -> None:
    """ParallelCluster's schema lets these through, by `$` before a line's end or by asking for any text."""
    (problem,) = check_accounting_fields(changed(DATABASE, **change))
    assert (problem.code, problem.path) == (code, (path,))


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"slurmdbd_port": 0}, Code.ACCOUNTING_ADDRESS, "slurmdbd_port"),
        ({"slurmdbd_port": 70000}, Code.ACCOUNTING_ADDRESS, "slurmdbd_port"),
        ({"slurmdbd_host": "tcp://dbd"}, Code.ACCOUNTING_ADDRESS, "slurmdbd_host"),
        ({"slurmdbd_host": "dbd:6819"}, Code.ACCOUNTING_ADDRESS, "slurmdbd_host"),
        ({"password_secret_arn": SECRET}, Code.ACCOUNTING_PLACE, "password_secret_arn"),
        ({"database_name": "slurm"}, Code.ACCOUNTING_PLACE, "database_name"),
    ],
)
def test_slurmdbd_elsewhere(change: dict[str, Any], code: Code, path: str) -> None:
    (problem,) = check_accounting_fields(changed(SLURMDBD, **change))
    assert (problem.code, problem.path) == (code, (path,))


def test_everything_at_once() -> None:
    found = check_accounting_fields(
        Database(database_uri="/x y", user_name="", password_secret_arn="x", database_name="A", slurmdbd_host="a b")
    )
    assert [problem.code for problem in found] == [
        Code.ACCOUNTING_PLACE,
        Code.ACCOUNTING_ADDRESS,
        Code.ACCOUNTING_USER,
        Code.ACCOUNTING_SECRET,
        Code.ACCOUNTING_SCHEMA,
        Code.ACCOUNTING_ADDRESS,
        Code.ACCOUNTING_MUNGE_KEY,
    ]
