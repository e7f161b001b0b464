"""The step slurmd: it is registered with the controller, or the reason is reported."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node import names
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import controller, diagnosis, units
from llm_fleet_node.slurm.registration import registered
from llm_fleet_node.step import ON_CREATE, ON_INIT_COMPLETE
from llm_fleet_node.steps import slurm_ready, slurmd
from llm_fleet_node.steps.slurmd import STEP
from tests.lifecycle_scripts.convergence import applied, assert_fails, converges
from tests.lifecycle_scripts.slurm.slurm_node import (
    GROUP,
    IDLE,
    IGNORED,
    OWN,
    bare,
    calls,
    fails,
    on_ami,
    runs,
    says,
    starts,
    with_identity,
)
from tests.lifecycle_scripts.step_node import file, said
from tests.pains.reported import reported

DROP_IN = "etc/systemd/system/slurmd.service.d/llm-fleet.conf"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """A controller that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        monkeypatch.setattr(controller, "PORT", number)
        yield number


def worker(root: Path) -> Node:
    node = with_identity(on_ami(root), controllers=("127.0.0.1",))
    file(root, f"/fake/node/{OWN}", IDLE)
    return node


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurmd, "_CONTROLLER_SECONDS", 0.1)
    monkeypatch.setattr(slurmd, "_FIRST_SECONDS", 0.1)
    monkeypatch.setattr(slurmd, "_SECONDS", 0.3)


def test_it_fetches_its_configuration_from_every_controller(tmp_path: Path, port: int) -> None:
    node = with_identity(worker(tmp_path), controllers=("127.0.0.1", "10.1.0.6"))
    applied(STEP, node)
    options = f"--conf-server 127.0.0.1:{port},10.1.0.6:{port}"
    assert f"Environment='SLURMD_OPTIONS={options}'\n" in (tmp_path / DROP_IN).read_text()
    assert (tmp_path / "etc/systemd/system/slurmd.service").read_text() == "[Service]\n", (
        "the unit itself is not llm-fleet's"
    )
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path, port: int) -> None:
    assert converges(STEP, worker, tmp_path, ignore=IGNORED) >= 4


def test_it_retries_after_a_reboot(tmp_path: Path, port: int) -> None:
    applied(STEP, worker(tmp_path))
    text = (tmp_path / DROP_IN).read_text()
    assert "Restart=on-failure\nRestartSec=1\n" in text
    assert "StartLimitIntervalSec=0\n" in text
    assert (tmp_path / "etc/systemd/system/multi-user.target.wants/slurmd.service").is_symlink()


def test_another_controller_restarts_it(tmp_path: Path, port: int) -> None:
    import time

    node = worker(tmp_path)
    applied(STEP, node)
    time.sleep(0.1)
    moved = with_identity(node, controllers=("127.0.0.1", "10.1.0.7"))
    requested = calls(tmp_path)
    with pytest.raises(Failure, match=r"LFN72  slurmd has other options than 127\.0\.0\.1:\d+,10\.1\.0\.7:"):
        STEP.verify(moved)
    assert calls(tmp_path) == requested, "every query of a missing controller waits for its timeout"
    assert applied(STEP, moved) == ["removed /run/slurm/conf", f"wrote /{DROP_IN}", "restarted slurmd"]


def test_the_controllers_daemons_are_disabled(tmp_path: Path, port: int) -> None:
    node = worker(tmp_path)
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True)
    (wanted / "slurmctld.service").symlink_to("/etc/systemd/system/slurmctld.service")
    applied(STEP, node)
    assert not (wanted / "slurmctld.service").is_symlink()


def test_a_node_without_platform_defines_itself(tmp_path: Path, port: int) -> None:
    node = bare(tmp_path)
    node = replace(with_identity(node, controllers=("127.0.0.1",), group=GROUP))
    file(tmp_path, f"/fake/node/{OWN}", IDLE)
    applied(STEP, node)
    assert '-Z --conf "Feature=workers Gres=neuron:16"' in (tmp_path / DROP_IN).read_text()


def test_jobs_can_lock_memory(tmp_path: Path, port: int) -> None:
    applied(STEP, worker(tmp_path))
    assert "\nLimitMEMLOCK=infinity\n" in (tmp_path / DROP_IN).read_text()


def test_a_slurmd_with_a_too_low_memory_lock_limit_is_reported(tmp_path: Path, port: int) -> None:
    node = worker(tmp_path)
    (tmp_path / "sys/class/infiniband/efa_0").mkdir(parents=True)
    STEP.apply(node)
    with pytest.raises(Failure, match="LFN97  the locked memory limit of slurmd and its jobs is unknown"):
        STEP.verify(node)
    (unit,) = units.look(node.host, "slurmd")
    limit = "Max locked memory         {}              8388608              bytes     \n"
    file(tmp_path, f"/proc/{unit.pid}/limits", limit.format("8388608"))
    with pytest.raises(Failure, match="LFN97  the locked memory limit of slurmd and its jobs is 8388608 bytes"):
        STEP.verify(node)
    file(tmp_path, "/proc/self/status", "CapBnd:\t000001ffffffffff\n")
    with pytest.raises(Failure, match="LFN97"):
        STEP.verify(node)
    file(tmp_path, "/proc/self/status", "CapBnd:\t000001fffeffffff\n")  # all but CAP_SYS_RESOURCE
    STEP.verify(node)
    file(tmp_path, "/proc/self/status", "CapBnd:\t000001ffffffffff\n")
    file(tmp_path, f"/proc/{unit.pid}/limits", limit.format("unlimited"))
    STEP.verify(node)


def test_an_unknown_controller_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN67.*names no controller"):
        controller.addresses(with_identity(on_ami(tmp_path), controllers=()))


@pytest.mark.usefixtures("impatient")
def test_a_controller_that_refuses_connections_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    monkeypatch.setattr(controller, "PORT", free)
    with pytest.raises(
        Failure, match=f"LFN67  no connection to a controller within 0.1 s: 127.0.0.1:{free} connection refused"
    ):
        STEP.apply(worker(tmp_path))
    assert not runs(tmp_path, "slurmd")


@pytest.mark.usefixtures("impatient")
def test_a_controller_that_does_not_answer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "_CONNECT", 0.1)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        number = server.getsockname()[1]
        monkeypatch.setattr(controller, "PORT", number)
        full = [socket.socket() for _ in range(3)]  # fill its queue: later ones get no answer
        for one in full:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", number))
        with pytest.raises(Failure, match=r"does not answer within 0.1 s; a security group may block it"):
            STEP.apply(worker(tmp_path))
        for one in full:
            one.close()


@pytest.mark.usefixtures("impatient", "port")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (
            "slurmd: error: _fetch_child: failed to fetch remote configs: Protocol authentication error",
            Code.MUNGE_REJECTED,
        ),
        ("error: Munge decode failed: Expired credential", Code.MUNGE_CLOCK),
        ("error: Munge decode failed: Rewound credential", Code.MUNGE_CLOCK),
        ("fatal: Unable to determine this slurmd's NodeName", Code.NODE_UNKNOWN),
        ("error: Unable to register: Incompatible versions of client and server code", Code.SLURM_VERSIONS),
        ('error: Munge encode failed: Failed to access "/run/munge/munge.socket.2"', Code.MUNGE_DOWN),
        ("error: Unable to initialize cgroup plugin", Code.SLURMD),
        ("error: Unable to contact slurm controller (connect failure)", Code.SLURMD),
    ],
)
def test_why_it_is_not_registered(tmp_path: Path, words: str, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "clock_offset", lambda _: 2.0)  # type: ignore[misc]
    node = worker(tmp_path)
    fails(tmp_path, "registration")
    says(tmp_path, "slurmd", words)
    STEP.apply(node)
    caught = assert_fails(code, STEP.verify, node)
    assert words.removeprefix("slurmd: ") in caught.cause
    if code is Code.SLURM_VERSIONS:
        reported(7, caught, "Incompatible versions of client and server code")


@pytest.mark.usefixtures("impatient", "port")
def test_the_cause_of_repeated_restarts_is_reported(tmp_path: Path) -> None:
    """Its newest run has no log yet: the cause is in the run before it. Older runs may have a cause that was fixed."""
    node = worker(tmp_path)
    fails(tmp_path, "registration")
    ended = "slurmd: fatal: Unable to determine this slurmd's NodeName"
    file(tmp_path, "/fake/restarts/slurmd", "47")
    file(tmp_path, "/fake/journal/slurmd", "")
    file(tmp_path, "/fake/journals/slurmd", f"an-old-run CLUSTER ID MISMATCH\nrun-before {ended}\n")
    STEP.apply(node)
    with pytest.raises(
        Failure, match=r"LFN70  no registration of .*: fatal: Unable to determine this slurmd's NodeName"
    ):
        STEP.verify(node)


@pytest.mark.usefixtures("impatient", "port")
@pytest.mark.parametrize("server", ["silent", "servfail", "alive"])
def test_dns_servers_without_answer_are_reported(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's programs report only that a socket timed out."""
    node = worker(tmp_path)
    fails(tmp_path, "registration")
    says(tmp_path, "slurmd", "error: slurm_send_node_msg: Socket timed out on send/recv operation")
    file(tmp_path, "/etc/resolv.conf", "search ec2.internal\nnameserver 127.0.0.1\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dns:
        dns.bind(("127.0.0.1", 0))
        monkeypatch.setattr(names, "_DNS_PORT", dns.getsockname()[1])
        if server != "silent":
            threading.Thread(target=answer, args=(dns, 2 if server == "servfail" else 3), daemon=True).start()
        STEP.apply(node)
        with pytest.raises(Failure) as caught:
            STEP.verify(node)
    expected = {
        "silent": "LFN168 no DNS server answers (127.0.0.1 does not answer within 2 s)",
        "servfail": "LFN168 no DNS server answers (127.0.0.1 returned SERVFAIL: it reaches no other server)",
        "alive": "LFN72 error: slurm_send_node_msg: Socket timed out",
    }[server]
    code, _, cause = expected.partition(" ")
    assert (caught.value.code.code, cause in caught.value.cause) == (code, True)


def answer(dns: socket.socket, code: int) -> None:
    """Answer one query like a DNS server, without a record and with this code (RFC 1035: 2 SERVFAIL, 3 NXDOMAIN)."""
    requested, sender = dns.recvfrom(512)
    dns.sendto(requested[:2] + bytes([0x81, 0x80 + code]) + requested[4:], sender)


@pytest.mark.usefixtures("impatient", "port")
@pytest.mark.parametrize(("offset", "code"), [(-3600.0, Code.MUNGE_CLOCK), (None, Code.MUNGE_REJECTED)])
def test_a_wrong_clock_is_distinguished_from_a_wrong_key(
    tmp_path: Path, offset: float | None, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "clock_offset", lambda _: offset)  # type: ignore[misc]
    node = worker(tmp_path)
    fails(tmp_path, "registration")
    says(tmp_path, "slurmd", "error: Protocol authentication error")
    STEP.apply(node)
    assert_fails(code, STEP.verify, node)


@pytest.mark.usefixtures("impatient", "port")
@pytest.mark.parametrize(
    "line",
    [
        "",
        IDLE.replace("SlurmdStartTime=2026-11-20T11:00:01", "SlurmdStartTime=None").replace("IDLE", "UNKNOWN"),
        IDLE.replace("IDLE", "DOWN*"),
        IDLE.replace("IDLE", "IDLE*"),
    ],
    ids=["unknown", "never registered", "down", "silent"],
)
def test_a_node_that_has_not_registered(tmp_path: Path, line: str) -> None:
    node = worker(tmp_path)
    file(tmp_path, f"/fake/node/{OWN}", line)
    says(tmp_path, "slurmd", "info: nothing special")
    STEP.apply(node)
    with pytest.raises(Failure, match=f"LFN72  no registration of {OWN} within 0.2 s"):
        STEP.verify(node)


@pytest.mark.usefixtures("impatient")
def test_a_running_slurmd_with_an_unreachable_controller(tmp_path: Path) -> None:
    node = with_identity(worker(tmp_path), controllers=("127.0.0.1",))
    (tmp_path / f"fake/node/{OWN}").unlink()
    starts(tmp_path, "slurmd")
    with pytest.raises(Failure, match=r"LFN67(.|\n)*connection refused"):
        STEP.verify(node)


@pytest.mark.usefixtures("port")
def test_a_daemon_that_the_ami_started_is_only_verified(tmp_path: Path) -> None:
    node = replace(worker(tmp_path), hook=ON_INIT_COMPLETE)
    (tmp_path / "run/slurm").mkdir(parents=True)
    (tmp_path / "run/slurm/conf").symlink_to("/var/spool/slurmd/conf-cache")
    assert applied(STEP, node) == []
    (tmp_path / f"fake/node/{OWN}").unlink()
    with pytest.raises(Failure, match=r"LFN72  slurmd is not running"):
        STEP.verify(node)


@pytest.mark.usefixtures("impatient", "port")
@pytest.mark.parametrize("hook", [ON_CREATE, ON_INIT_COMPLETE])
def test_a_login_node_that_the_platform_does_not_list_passes(tmp_path: Path, hook: str) -> None:
    """Whether HyperPod lists login nodes is contradictory in AWS's own sources.

    Source: assumption hyperpod-login-nodes-in-slurm.
    """
    node = replace(with_identity(on_ami(tmp_path, "Login"), controllers=("127.0.0.1",)), hook=hook)
    fails(tmp_path, "registration")
    STEP.apply(node)
    STEP.verify(node)
    slurm_ready.STEP.verify(node)
    assert said(node) == (
        f"the controller answers and has no node {OWN}: users submit from here, and no slurmd is needed"
    )
    if hook == ON_CREATE:
        # Otherwise the link to the fetched configuration is removed with slurmd, and sinfo fails (drill, test_up.py).
        assert "RuntimeDirectoryPreserve=yes\n" in (tmp_path / DROP_IN).read_text()
    fails(tmp_path, "sinfo")
    with pytest.raises(Failure, match="LFN72"):
        STEP.verify(node)
    with pytest.raises(Failure, match="LFN72"):
        slurm_ready.STEP.verify(node)


@pytest.mark.usefixtures("impatient", "port")
def test_a_worker_that_the_controller_does_not_list_fails(tmp_path: Path) -> None:
    node = with_identity(on_ami(tmp_path), controllers=("127.0.0.1",))
    says(tmp_path, "slurmd", "fatal: Unable to determine this slurmd's NodeName")
    STEP.apply(node)
    with pytest.raises(Failure):
        STEP.verify(node)


def test_login_nodes_run_it_too() -> None:
    assert STEP.roles == {"Compute", "Login"}


def test_no_query_is_sent_before_a_configuration_exists(tmp_path: Path, port: int) -> None:
    """Slurm's commands look for a controller in DNS then, and take seconds over it."""
    node = worker(tmp_path)
    assert registered(node.host, OWN) is None
    assert calls(tmp_path) == []
