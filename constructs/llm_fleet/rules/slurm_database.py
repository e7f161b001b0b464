"""Rules of Slurm accounting: the RDS database, and the accounting settings of a cluster.

Sources for the latter: DatabaseUriValidator, PasswordSecretArnValidator and the two validators of ExternalSlurmdbd in
the package aws-parallelcluster, DatabaseSchema in its schemas/cluster_schema.py.
"""

import re
from collections.abc import Iterator

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.nodes import EngineFacts, slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.file_systems import check_choice
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import check_number
from llm_fleet.spec.slurm_database import Accounting, SlurmDatabaseSpec, major_of

_AURORA = re.compile(r"mysql_aurora\.(\d+)\.(\d+)\.(\d+)")
_CLASS = re.compile(r"db(\.[a-z0-9-]+){2,3}")


def check_slurm_database(spec: SlurmDatabaseSpec) -> list[Problem]:
    """Return everything that RDS would reject in `spec`, by attribute names."""
    facts = slurm_database_facts()
    problems = check_choice(
        spec.engine,
        tuple(facts.engines),
        code=Code.DATABASE_ENGINE,
        name="engine",
        what="slurmdbd requires a MySQL database, and llm-fleet does not support the engine",
    )
    engine = facts.engines.get(spec.engine)
    if engine is not None:
        problems += [*_check_version(spec, engine), *_check_kind(spec), *_check_backups(spec, engine)]
    return [
        *problems,
        *_check_user(spec.user_name),
        *check_fields(spec),
        *_check_window(spec.backup_window, "backup_window", _DAILY, "02:00-03:00"),
        *_check_window(spec.maintenance_window, "maintenance_window", _WEEKLY, "sun:03:00-sun:04:00"),
    ]


@rule
def check_subnets(zones: int, *, remedy: str) -> Iterator[Problem]:
    """Return a problem unless subnets are in the number of AZs that a DB subnet group requires."""
    least = slurm_database_facts().least_zones
    if zones < least:
        yield Problem(
            code=Code.DATABASE_SUBNETS,
            path=("subnets",),
            message=f"RDS requires subnets in at least {least} Availability Zones, even for a database in one of them",
            allowed=f"at least {least} subnets, in different AZs",
            remedy=remedy,
        )


_SETTING = Code.DATABASE_SETTING
_WORDS = {
    "instance_class": "instance class",
    "storage_gib": "storage size",
    "min_capacity": "minimum capacity",
    "max_capacity": "maximum capacity",
}
_TIME = "([01]\\d|2[0-3]):[0-5]\\d"
_DAY = "(mon|tue|wed|thu|fri|sat|sun)"
_DAILY = re.compile(f"{_TIME}-{_TIME}")
_WEEKLY = re.compile(f"{_DAY}:{_TIME}-{_DAY}:{_TIME}")


def _check_version(spec: SlurmDatabaseSpec, engine: EngineFacts) -> Iterator[Problem]:
    version = spec.engine_version
    if version is None or is_unresolved(version):
        return
    major = major_of(version)
    if major is not None and (major in engine.families or spec.parameter_group_family is not None):
        return
    yield spec.wrong(
        "engine_version",
        Code.DATABASE_ENGINE,
        f"unknown version {version} of {spec.engine}",
        f"remove it to use {engine.default}, or set `parameter_group_family` of a newer version",
        allowed=", ".join(f"{known}.…" for known in engine.families),
    )


def _check_kind(spec: SlurmDatabaseSpec) -> Iterator[Problem]:
    """Return problems for settings of the other kind of database, and for the size of this kind."""
    for name in ("instance_class", "storage_gib") if spec.serverless else ("min_capacity", "max_capacity"):
        if getattr(spec, name) is not None:
            yield spec.wrong(
                name,
                _SETTING,
                f"the {_WORDS[name]} has no effect with {spec.engine}",
                "remove it: capacity and storage scale automatically"
                if spec.serverless
                else "remove it, or set the instance class",
            )
    yield from _check_capacity(spec) if spec.serverless else _check_instance(spec)


def _check_capacity(spec: SlurmDatabaseSpec) -> list[Problem]:
    least, most = spec.effective_capacity
    lowest, highest = slurm_database_facts().capacity_units
    minimums = {"min_capacity": lowest, "max_capacity": 1}
    problems = [
        spec.wrong(
            name,
            _SETTING,
            f"Aurora Serverless v2 does not support {value} as {_WORDS[name]}",
            "remove it, or write the nearest step",
            allowed=f"{least_allowed:g} to {highest:g} capacity units, in steps of 0.5",
        )
        for name, least_allowed in minimums.items()
        if (value := getattr(spec, name)) is not None
        and not is_unresolved(value)
        and not _is_capacity(value, least_allowed, highest)
    ]
    if not problems and not is_unresolved([least, most]) and least > most:
        return [
            spec.wrong(
                "max_capacity",
                _SETTING,
                f"the maximum capacity is below the minimum capacity, {least:g}",
                f"write at least {least:g}",
                value=most,
            )
        ]
    return problems or _check_pause(spec)


def _is_capacity(value: object, least: float, most: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most and value % slurm_database_facts().capacity_step == 0


@rule
def _check_pause(spec: SlurmDatabaseSpec) -> Iterator[Problem]:
    """Return a problem when the set version does not support automatic pause, which a minimum of 0 enables."""
    found = _AURORA.search(spec.engine_version or "")
    first = slurm_database_facts().pauses_from_aurora
    if spec.min_capacity == 0 and found is not None and tuple(map(int, found.groups())) < first:
        yield spec.wrong(
            "min_capacity",
            _SETTING,
            f"Aurora MySQL {'.'.join(found.groups())} does not support automatic pause, and so no minimum capacity "
            "of 0",
            "write 0.5, or use a later version",
            allowed="0.5 or more; 0 from version {}.{:02}.{}".format(*first),
        )


def _check_instance(spec: SlurmDatabaseSpec) -> Iterator[Problem]:
    least, most = slurm_database_facts().storage_gib
    limit = Limit(minimum=least, maximum=most)
    yield from check_number(spec.storage_gib, limit, _SETTING, "storage_gib", what="`size`")
    chosen = spec.instance_class
    if chosen is not None and not is_unresolved(chosen) and not _CLASS.fullmatch(chosen):
        yield spec.wrong(
            "instance_class",
            _SETTING,
            "this is not a DB instance class of RDS",
            f"write `db.{chosen.removeprefix('db.')}`" if "." in chosen else "remove it",
            allowed="e.g. db.t4g.medium, db.m7g.large",
        )


def _check_backups(spec: SlurmDatabaseSpec, engine: EngineFacts) -> list[Problem]:
    least, most = engine.backup_days
    limit = Limit(minimum=least, maximum=most)
    days = spec.backup_retention_days
    return check_number(days, limit, _SETTING, "backup_retention_days", what="the retention of backups, in days,")


def _check_user(name: str) -> Iterator[Problem]:
    facts = slurm_database_facts()
    reserved = name in facts.reserved_user_names
    if is_unresolved(name) or (re.fullmatch(facts.user_name, name) and not reserved):
        return
    yield Problem(
        code=Code.ACCOUNTING_USER,
        path=("user_name",),
        value=name,
        message="RDS reserves this user name" if reserved else "RDS rejects this user name",
        allowed="1 to 16 letters and digits, a letter first",
        remedy="remove it to use `slurm`",
    )


def _check_window(value: str | None, name: str, form: re.Pattern[str], example: str) -> Iterator[Problem]:
    if value is not None and not is_unresolved(value) and not form.fullmatch(value):
        yield Problem(
            code=_SETTING,
            path=(name,),
            value=value,
            message="this is not a valid time window for RDS",
            allowed=f"e.g. {example}, in UTC",
            remedy=f"write it as in `{example}`",
        )


SCHEMA_PREFIX = "slurm_acct_db_"
"""The prefix of database schemas, the same as HyperPod's."""
_PORTS = Limit(minimum=1, maximum=65535)
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:(?P<port>[0-9]{1,5}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_USER = re.compile(r"[^\s#'\"\\]{1,32}")
"""MySQL's limit; in slurmdbd.conf a value ends at a space and at `#`."""


def check_accounting_fields(accounting: Accounting) -> list[Problem]:
    """Return what is wrong with external accounting by itself, by attribute names."""
    return [
        *_check_one_place(accounting),
        *_check_address(accounting.database_uri),
        *_check_sign_in(accounting),
        *_check_database_name(accounting.database_name),
        *_check_slurmdbd(accounting),
    ]


def keeps_records(accounting: Accounting | None) -> bool:
    """Return whether Slurm accounting is enabled in a cluster with `accounting`."""
    return accounting is not None and accounting.keeps_records


def _check_one_place(accounting: Accounting) -> Iterator[Problem]:
    here, there = accounting.endpoint is not None, accounting.slurmdbd_host is not None
    of_database = {"password_secret": accounting.password_secret, "database_name": accounting.database_name}
    given = {attribute: value for attribute, value in of_database.items() if value is not None}
    if here and there:
        yield accounting.wrong(
            "slurmdbd_host",
            Code.ACCOUNTING_PLACE,
            "set only one of a database and an external slurmdbd",
            "remove one of the two: an external slurmdbd has its own database",
        )
    elif there:
        for attribute, value in given.items():
            yield accounting.wrong(
                attribute,
                Code.ACCOUNTING_PLACE,
                "this setting of a database has no effect: the external slurmdbd has its own database",
                "remove it",
                value=value,
            )
    elif not here and (given or accounting.munge_key_secret is None):
        # With only a munge key accounting is disabled: ParallelCluster accepts the user's key without accounting.
        yield accounting.wrong(
            "endpoint",
            Code.ACCOUNTING_PLACE,
            "a database or an external slurmdbd is required",
            "set one of the two, or only the secret of a munge key",
        )


def _check_address(uri: str | None) -> Iterator[Problem]:
    if uri is None or is_unresolved(uri):
        return
    found = _ADDRESS.fullmatch(uri)
    port = found["port"] if found else None
    if found and (port is None or _PORTS.holds(int(port))):
        return
    scheme = _SCHEME.match(uri)
    fault = f"must not begin with a scheme, {scheme[0]}" if scheme else "is not a host name with a port"
    repaired = _ADDRESS.search(uri[scheme.end() :] if scheme else uri.lstrip("/"))
    yield Problem(
        code=Code.ACCOUNTING_ADDRESS,
        path=("endpoint",),
        value=uri,
        message=f"the address of the database {fault}",
        allowed="<host> or <host>:<port>, with a port of 1 to 65535",
        remedy=f"write `{repaired['host']}:{slurm_database_facts().port}`" if repaired else "write its host name",
    )


def _check_sign_in(accounting: Accounting) -> Iterator[Problem]:
    """Return a problem for a database without secret, and for a user name that slurmdbd.conf cannot contain."""
    if accounting.database_uri is not None and accounting.password_secret is None:
        yield accounting.wrong(
            "password_secret",
            Code.ACCOUNTING_SECRET,
            "the secret with the password is required for a database",
            "set the secret whose text is the password and nothing else",
            value=None,
        )
    user = accounting.user_name
    if not (is_unresolved(user) or _USER.fullmatch(user)):
        yield accounting.wrong(
            "user_name",
            Code.ACCOUNTING_USER,
            "slurmdbd cannot use this database user name",
            "write the name of a database user with the permission to create the schema",
            allowed="1 to 32 characters without spaces, quotes, backslashes and #",
        )


def _check_database_name(name: str | None) -> Iterator[Problem]:
    if name is None or is_unresolved(name) or re.fullmatch(slurm_database_facts().database_name, name):
        return
    repaired = re.sub("[^0-9a-z_]", "_", name.lower())[:64]
    yield Problem(
        code=Code.ACCOUNTING_SCHEMA,
        path=("database_name",),
        value=name,
        message="ParallelCluster rejects this schema name",
        allowed="1 to 64 lower-case letters, digits and underscores",
        remedy=f"write `{repaired}`" if repaired else "remove it to use a schema of the cluster's own",
    )


def _check_slurmdbd(accounting: Accounting) -> Iterator[Problem]:
    host = accounting.slurmdbd_host
    if host is None:
        return
    yield from check_number(
        accounting.port,
        _PORTS,
        Code.ACCOUNTING_ADDRESS,
        "port",
        what="the port of slurmdbd",
        remedy=f"remove it to use {slurm_database_facts().slurmdbd_port}, slurmdbd's default",
    )
    found = None if is_unresolved(host) else _ADDRESS.fullmatch(host)
    if not is_unresolved(host) and (found is None or found["port"] is not None):
        yield accounting.wrong(
            "slurmdbd_host",
            Code.ACCOUNTING_ADDRESS,
            "the host of slurmdbd must be a host name or an IP address",
            "write only the host, without scheme and port; the port has its own key",
        )
    if accounting.munge_key_secret is None:
        yield accounting.wrong(
            "munge_key_secret",
            Code.ACCOUNTING_MUNGE_KEY,
            "a munge key is required for an external slurmdbd: it must be the same in both",
            "set the secret that contains slurmdbd's munge key in Base64",
        )
