"""MariaDB on the controller, for accounting. Its root user connects with the socket, without a password."""

from __future__ import annotations

import os

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.slurm import slurmdbd, units
from llm_fleet_node.slurm.slurmdbd import Storage

DATABASE, USER = "slurm_acct_db", "slurm"
_UNITS = ("mariadb", "mysql", "mysqld")
_SETTINGS = ("/etc/mysql/mariadb.conf.d", "/etc/mysql/conf.d", "/etc/my.cnf.d")
"""Configuration folders of MariaDB and MySQL on Debian and Ubuntu, and of Red Hat's family."""
_TEXT = """\
# Written by llm-fleet: requirements of slurmdbd, from Slurm's accounting guide. Only this node can connect.
[mysqld]
innodb_buffer_pool_size={pool}M
innodb_lock_wait_timeout=900
max_allowed_packet=16M
bind-address=127.0.0.1
skip-name-resolve
"""
_PERCENT, _LEAST = 12, 128
"""Part of the memory, and minimum MiB, of the buffer pool: slurmdbd 24.11 warns below 10 %."""
_SQL = """\
CREATE DATABASE IF NOT EXISTS {database};
CREATE USER IF NOT EXISTS '{user}'@'localhost' IDENTIFIED BY '{password}';
ALTER USER '{user}'@'localhost' IDENTIFIED BY '{password}';
GRANT ALL ON {database}.* TO '{user}'@'localhost';
"""


def prepare(host: Host, etc: str) -> None:
    """Make sure that MariaDB runs with slurmdbd's database and user. Raises `Failure`.

    The password is generated once and kept in slurmdbd.conf, which is written first: after a kill, the next run reads
    it from there.
    """
    unit = unit_name(host)
    settings = _put_settings(host)
    password = slurmdbd.password(host, etc) or os.urandom(16).hex()
    slurmdbd.write(host, etc, Storage("localhost", 3306, DATABASE, USER, password))
    try:
        units.start(host, unit, reads=[settings])
        if problem(host, etc):
            _make(host, password)
    except CommandFailed as error:
        fail(Code.DATABASE, error.cause)


def problem(host: Host, etc: str) -> str:
    """Return why slurmdbd's user cannot use its database; empty if it can."""
    password = slurmdbd.password(host, etc)
    if password is None:
        return f"{etc}/slurmdbd.conf has no password"
    # With standard input: all users can see the command line of a process.
    options = f"[client]\nuser={USER}\npassword={password}\n"
    try:
        host.run(_client(host), "--defaults-file=/dev/stdin", "--execute=SELECT 1", DATABASE, input=options)
    except CommandFailed as error:
        return error.cause
    return ""


def _make(host: Host, password: str) -> None:
    sql = _SQL.format(database=DATABASE, user=USER, password=password)
    host.run(
        _client(host), "--protocol=socket", "--user=root", input=sql, changes=f"made database and user of {DATABASE}"
    )


def _client(host: Host) -> str:
    return "mariadb" if host.which("mariadb") else "mysql"


def unit_name(host: Host) -> str:
    """Return the name of MariaDB's unit. Raises `Failure` if the node has none."""
    there = [unit.name for unit in units.look(host, *_UNITS) if unit.is_there]
    if not there:
        fail(Code.DATABASE, "accounting uses a local database, but this node has no MariaDB", final=True)
    return there[0]


def _put_settings(host: Host) -> str:
    folder = next((name for name in _SETTINGS if host.path(name).is_dir()), _SETTINGS[0])
    path = f"{folder}/90-llm-fleet.cnf"
    host.write(path, _TEXT.format(pool=_pool(host)))
    return path


def _pool(host: Host) -> int:
    """Return the size of the buffer pool in MiB. slurmdbd warns below 128."""
    for line in (host.read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return max(_LEAST, int(line.split()[1]) // 1024 * _PERCENT // 100)
    return _LEAST
