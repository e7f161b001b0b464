"""slurmctld runs with its current configuration, and answers."""

from __future__ import annotations

from typing import NoReturn

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import applied, conf_file, logs, units
from llm_fleet_node.slurm.daemon_folders import prove_room, state_folder
from llm_fleet_node.slurm.diagnosis import check_dns
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import CONTROLLER, ON_CREATE, ON_INIT_COMPLETE, Step
from llm_fleet_node.waiting import wait_for

_FIRST_SECONDS, _SECONDS = 6.0, 60.0
_REPORTED_APART = (Code.CLUSTER_ID, Code.TOPOLOGY, Code.MUNGE_DOWN)
_DROP_IN = """\
[Unit]
After=munge.service slurmdbd.service
Wants=munge.service
# If it fails at its start, it is started again until its dependencies are there.
StartLimitIntervalSec=0

[Service]
Restart=on-failure
RestartSec=2
"""


def _apply(node: Node) -> None:
    if node.hook != ON_CREATE:
        return  # the AMI has started it
    host = node.host
    slurm = found(host)
    units.stay_off(host, "slurmd")
    conf = conf_file.read(host, slurm.etc)
    host.folder(state_folder(conf), owner="slurm")
    host.folder("/var/log/slurm", owner="slurm")
    ran = units.look(host, "slurmctld")[0].active
    try:
        units.start(host, "slurmctld", adds=_DROP_IN)
    except CommandFailed as error:
        _explain(node, error.cause)
    wanted = applied.digest(host, slurm.etc)
    if ran:
        _wait(node)
        try:
            if applied.noted(node) != wanted or (conf and applied.difference(host, conf)):
                host.run("scontrol", "reconfigure", changes="reconfigured Slurm")
        except CommandFailed as error:
            _explain(node, error.cause)
    applied.note(node, wanted)


def _verify(node: Node) -> None:
    _wait(node)
    conf = conf_file.read(node.host, found(node.host).etc)
    try:
        missing = applied.difference(node.host, conf) if conf and node.hook == ON_CREATE else ""
    except CommandFailed as error:
        _explain(node, error.cause)
    if missing:
        fail(Code.SLURMCTLD, f"slurmctld runs without {missing}, which is in its files")


def _wait(node: Node) -> None:
    """Wait until slurmctld answers. Raises `Failure` with the reason if it does not."""

    def look() -> bool:
        try:
            return "is UP" in node.host.run("scontrol", "ping", timeout=20)
        except CommandFailed:
            return False

    if look():
        return
    (unit,) = units.look(node.host, "slurmctld")
    if not unit.active:
        _explain(node, "slurmctld is not running")
    for seconds in (_FIRST_SECONDS, _SECONDS):
        try:
            wait_for("answer of slurmctld", look, seconds=seconds, code=Code.SLURMCTLD)
        except Failure as error:
            # systemd restarts it repeatedly: if its log has a known reason, waiting does not help.
            if seconds == _SECONDS or logs.meaning(logs.last_words(node.host, "slurmctld")) in _REPORTED_APART:
                _explain(node, error.cause)
        else:
            return


def _explain(node: Node, what: str) -> NoReturn:
    prove_room(node.host, state_folder(conf_file.read(node.host, found(node.host).etc)))
    words = logs.last_words(node.host, "slurmctld")
    known = logs.meaning(words)
    code = known if known is not None and known in _REPORTED_APART else Code.SLURMCTLD
    if code is Code.SLURMCTLD:
        check_dns(node.host, what)
    fail(code, f"{what}: {logs.errors_of(words)}")


STEP = Step(
    name="slurmctld",
    summary="slurmctld answers",
    roles=frozenset({CONTROLLER}),
    hooks=frozenset({ON_CREATE, ON_INIT_COMPLETE}),
    needs=("hosts", "munge", "accounting", "slurm_conf"),
    after=("pyxis", "health_check"),
    apply=_apply,
    verify=_verify,
    timeout=150,
)
