"""Accounting outside a ParallelCluster: the form of what `SlurmSettings` is told.

Sources: DatabaseUriValidator, PasswordSecretArnValidator and the two validators of ExternalSlurmdbd in the package
aws-parallelcluster, DatabaseSchema in its schemas/cluster_schema.py.
"""

import re

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.slurm_database import Accounting

SCHEMA_PREFIX = "slurm_acct_db_"
"""What the names of schemas begin with, as HyperPod's own do."""

_PORTS = Limit(minimum=1, maximum=65535)
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:(?P<port>[0-9]{1,5}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_USER = re.compile(r"[^\s#'\"\\]{1,32}")
"""MySQL's own limit; slurmdbd.conf ends a value at a blank and at `#`."""


def check_accounting_fields(accounting: Accounting) -> list[Problem]:
    """Return what is wrong with accounting outside a cluster by itself, by attribute names."""
    return [
        *_check_one_place(accounting),
        *_check_address(accounting.database_uri),
        *_check_sign_in(accounting),
        *_check_database_name(accounting.database_name),
        *_check_slurmdbd(accounting),
    ]


def keeps_records(accounting: Accounting | None) -> bool:
    """Return whether Slurm keeps accounts of a cluster with `accounting`."""
    return accounting is not None and accounting.keeps_records


def _check_one_place(accounting: Accounting) -> list[Problem]:
    here, there = accounting.endpoint is not None, accounting.slurmdbd_host is not None
    if here is not there:
        return _check_beside_slurmdbd(accounting) if there else []
    of_database = (accounting.password_secret, accounting.database_name)
    if not here and accounting.munge_key_secret is not None and of_database == (None, None):
        return []  # The cluster keeps no records, and its key is the user's: ParallelCluster takes it by itself.
    both = "both a database and a slurmdbd elsewhere are named"
    return [
        Problem(
            code=Code.ACCOUNTING_PLACE,
            path=("slurmdbd_host",) if here else ("endpoint",),
            value=accounting.slurmdbd_host,
            message=both if here else "neither a database nor a slurmdbd elsewhere is named",
            remedy="keep one: the slurmdbd has a database of its own"
            if here
            else "name one of the two, or the secret of a munge key and nothing else",
        )
    ]


def _check_beside_slurmdbd(accounting: Accounting) -> list[Problem]:
    return [
        Problem(
            code=Code.ACCOUNTING_PLACE,
            path=(attribute,),
            value=value,
            message="this is for a database, and a slurmdbd elsewhere is named, which has one of its own",
            remedy="remove it",
        )
        for attribute, value in (
            ("password_secret", accounting.password_secret),
            ("database_name", accounting.database_name),
        )
        if value is not None
    ]


def _check_address(uri: str | None) -> list[Problem]:
    if uri is None or is_unresolved(uri):
        return []
    found = _ADDRESS.fullmatch(uri)
    port = found["port"] if found else None
    if found and (port is None or _PORTS.holds(int(port))):
        return []
    scheme = _SCHEME.match(uri)
    fault = f"begins with a scheme, {scheme[0]}" if scheme else "is no host name with a port"
    mended = _ADDRESS.search(uri[scheme.end() :] if scheme else uri.lstrip("/"))
    return [
        Problem(
            code=Code.ACCOUNTING_ADDRESS,
            path=("endpoint",),
            value=uri,
            message=f"the address of the database {fault}",
            allowed="<host> or <host>:<port>, with a port of 1 to 65535",
            remedy=f"write `{mended['host']}:{slurm_database_facts().port}`" if mended else "write its host name",
        )
    ]


def _check_sign_in(accounting: Accounting) -> list[Problem]:
    """Return what is missing beside a database, and a user name that slurmdbd could not be told."""
    problems: list[Problem] = []
    if accounting.database_uri is not None and accounting.password_secret is None:
        problems.append(
            Problem(
                code=Code.ACCOUNTING_SECRET,
                path=("password_secret",),
                message="the database has no secret with its password",
                remedy="name the secret whose text is the password and nothing else",
            )
        )
    user = accounting.user_name
    if not (is_unresolved(user) or _USER.fullmatch(user)):
        problems.append(
            Problem(
                code=Code.ACCOUNTING_USER,
                path=("user_name",),
                value=user,
                message="the database has no user name that slurmdbd could sign in with",
                allowed="1 to 32 characters without blanks, quotes, backslashes and #",
                remedy="write the name of a database user who may create the schema",
            )
        )
    return problems


def _check_database_name(name: str | None) -> list[Problem]:
    if name is None or is_unresolved(name) or re.fullmatch(slurm_database_facts().database_name, name):
        return []
    mended = re.sub("[^0-9a-z_]", "_", name.lower())[:64]
    return [
        Problem(
            code=Code.ACCOUNTING_SCHEMA,
            path=("database_name",),
            value=name,
            message="ParallelCluster refuses this name of a schema",
            allowed="1 to 64 lower-case letters, digits and underscores",
            remedy=f"write {mended!r}" if mended else "leave it out: the cluster is given a schema of its own",
        )
    ]


def _check_slurmdbd(accounting: Accounting) -> list[Problem]:
    host = accounting.slurmdbd_host
    problems = check_number(
        accounting.port if accounting.slurmdbd_host is not None else None,
        _PORTS,
        Code.ACCOUNTING_ADDRESS,
        "port",
        what="the port of slurmdbd",
        remedy=f"leave it out for {slurm_database_facts().slurmdbd_port}, slurmdbd's own",
    )
    if host is None:
        return problems
    if not is_unresolved(host) and not _is_host(host):
        problems.append(
            Problem(
                code=Code.ACCOUNTING_ADDRESS,
                path=("slurmdbd_host",),
                value=host,
                message="the host of slurmdbd is no host name or address",
                remedy="write it alone, without scheme and port; the port has a key of its own",
            )
        )
    if accounting.munge_key_secret is None:
        problems.append(
            Problem(
                code=Code.ACCOUNTING_MUNGE_KEY,
                path=("munge_key_secret",),
                message="a slurmdbd elsewhere trusts a cluster only by a munge key that both have, and none is named",
                remedy="name the secret that holds its munge key in Base64",
            )
        )
    return problems


def _is_host(text: str) -> bool:
    found = _ADDRESS.fullmatch(text)
    return found is not None and found["port"] is None
