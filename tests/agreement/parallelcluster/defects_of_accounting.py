"""Errors in accounting outside the cluster."""

from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import Cluster, Database, changed

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-AbCdEf"
DATABASE = Database()
SLURMDBD = Database(
    endpoint=None,
    password_secret=None,
    slurmdbd_host="slurmdbd.example.com",
    munge_key_secret=SECRET,
)


def _with(**changes: Any) -> PlacedParallelCluster:
    return Cluster(accounting=changed(DATABASE, **changes))


def _elsewhere(**changes: Any) -> PlacedParallelCluster:
    return Cluster(accounting=changed(SLURMDBD, **changes))


DEFECTS = (
    Defect(
        name="address of a database with its scheme",
        cluster=_with(endpoint="mysql://db.example.com"),
        code=Code.ACCOUNTING_ADDRESS,
        validator="DatabaseUriValidator",
        said="scheme",
        good=_with(),
    ),
    Defect(
        name="address of a database with a slash before it",
        cluster=_with(endpoint="/db.example.com"),
        code=Code.ACCOUNTING_ADDRESS,
        validator="DatabaseUriValidator",
        said="leading /",
        good=_with(endpoint="10.0.0.7"),
    ),
    Defect(
        name="port of a database out of range",
        cluster=_with(port=65536),
        code=Code.ACCOUNTING_ADDRESS,
        validator="DatabaseUriValidator",
        said="ort",
        good=_with(port=65535),
    ),
    Defect(
        name="port of a database that is no number",
        cluster=_with(endpoint="db.example.com:mysql"),
        code=Code.ACCOUNTING_ADDRESS,
        validator="DatabaseUriValidator",
        said="ort",
        good=_with(port=1),
    ),
    Defect(
        name="database without a secret",
        cluster=_with(password_secret=None),
        code=Code.ACCOUNTING_SECRET,
        validator=SCHEMA,
        said="PasswordSecretArn",
    ),
    Defect(
        name="schema with a hyphen",
        cluster=_with(database_name="slurm-acct"),
        code=Code.ACCOUNTING_SCHEMA,
        validator=SCHEMA,
        said="DatabaseName",
        good=_with(database_name="slurm_acct"),
    ),
    Defect(
        name="schema of 65 characters",
        cluster=_with(database_name="s" * 65),
        code=Code.ACCOUNTING_SCHEMA,
        validator=SCHEMA,
        said="DatabaseName",
        good=_with(database_name="s" * 64),
    ),
    Defect(
        name="schema with a capital letter",
        cluster=_with(database_name="Slurm"),
        code=Code.ACCOUNTING_SCHEMA,
        validator=SCHEMA,
        said="DatabaseName",
    ),
    Defect(
        name="database and slurmdbd",
        cluster=_with(slurmdbd_host="slurmdbd.example.com", munge_key_secret=SECRET),
        code=Code.ACCOUNTING_PLACE,
        validator="ExternalSlurmdbdVsDatabaseIncompatibility",
        good=_elsewhere(),
    ),
    Defect(
        name="slurmdbd without a munge key",
        cluster=_elsewhere(munge_key_secret=None),
        code=Code.ACCOUNTING_MUNGE_KEY,
        validator="ExternalSlurmdbdRequiresCustomMungeKey",
        good=_elsewhere(port=6820),
    ),
)
