"""slurmdbd: its configuration with the database password, and its check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Optional

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.names import own_name
from llm_fleet_node.slurm import logs, units
from llm_fleet_node.waiting import wait_for

PROBE = "/etc/llm-fleet/slurmdbd_probe.conf"
"""A slurm.conf with only the address of slurmdbd, which must answer before there is another slurm.conf."""
_SECONDS = 90.0
"""Timeout of its first start, which creates its tables."""
_FORBIDDEN = ("#", '"', "\n", "\\")
"""Characters that a password in slurmdbd.conf cannot have (slurmdbd.conf(5) lists the first)."""
_OF_DATABASE = ("Access denied", "mysql_real_connect failed", "Can't connect to", "Unknown MySQL server host", "SSL")


@dataclass(frozen=True)
class Storage:
    """The database of slurmdbd."""

    host: str
    port: int
    database: str
    user: str
    password: str
    tls: str = ""
    """`StorageParameters` for an encrypted connection; empty for a local one."""

    def __repr__(self) -> str:
        """Return its address, without the password."""
        return f"Storage({self.user}@{self.host}:{self.port}/{self.database})"


def write(host: Host, etc: str, storage: Storage) -> None:
    """Write slurmdbd.conf, readable only for SlurmUser, and the probe. Raises `Failure` for an invalid password."""
    if any(character in storage.password for character in _FORBIDDEN):
        fail(Code.DATABASE_SECRET, "slurmdbd.conf allows no #, quote, backslash or line break in a password")
    name = own_name(host)
    lines = {
        "AuthType": "auth/munge",
        "DbdHost": name,
        "SlurmUser": "slurm",
        "LogFile": "/var/log/slurm/slurmdbd.log",
        "PidFile": "/run/slurmdbd/slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": storage.host,
        "StoragePort": str(storage.port),
        "StorageLoc": storage.database,
        "StorageUser": storage.user,
        "StoragePass": f'"{storage.password}"' if " " in storage.password else storage.password,
    }
    if storage.tls:
        lines["StorageParameters"] = storage.tls
    text = "# Written by llm-fleet.\n" + "".join(f"{key}={value}\n" for key, value in lines.items())
    host.write(f"{etc}/slurmdbd.conf", text, mode=0o600, owner="slurm", group="slurm")
    probe = (
        f"ClusterName=probe\nSlurmctldHost={name}\n"
        f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost={name}\n"
    )
    host.write(PROBE, probe)


def password(host: Host, etc: str) -> Optional[str]:
    """Return the password in slurmdbd.conf; `None` if it has none."""
    for line in (host.read(f"{etc}/slurmdbd.conf") or "").splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == "storagepass" and value.strip():
            return value.strip().strip('"')
    return None


def start(host: Host, etc: str, *, after: str) -> None:
    """Make sure that slurmdbd runs with its configuration and answers; `after`: the unit of its database."""
    host.folder("/var/log/slurm", owner="slurm")
    order = "".join(f" {name}.service" for name in ("munge", after) if name)
    adds = f"[Unit]\nAfter={order.strip()}\nWants={order.strip()}\n\n[Service]\nRestart=on-failure\nRestartSec=2\n"
    try:
        units.start(host, "slurmdbd", adds=adds, reads=[f"{etc}/slurmdbd.conf"])
        wait_for("answer of slurmdbd", lambda: answers(host), seconds=_SECONDS, code=Code.SLURMDBD)
    except Failure as error:
        explain(host, error.cause)


def answers(host: Host) -> bool:
    """Return whether slurmdbd answers, which requires its database."""
    env = {"SLURM_CONF": str(host.path(PROBE))} if host.path(PROBE).exists() else {}
    try:
        host.run("sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=cluster", env=env, timeout=20)
    except CommandFailed:
        return False
    return True


def explain(host: Host, what: str) -> NoReturn:
    """Raise the `Failure` for why slurmdbd does not answer."""
    words = logs.last_words(host, "slurmdbd")
    code = Code.DATABASE if any(message in words for message in _OF_DATABASE) else Code.SLURMDBD
    fail(code, f"{what}: {logs.errors_of(words)}")
