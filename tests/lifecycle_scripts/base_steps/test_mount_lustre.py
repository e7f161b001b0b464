"""The step mount_lustre: mounting of file systems, diagnosis of failures, and settings of large nodes."""

import dataclasses
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.mounts.lustre_tuning import wanted
from llm_fleet_node.node import Node
from llm_fleet_node.steps.mount_lustre import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, lustre, mount_line
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import M5, TRN1, file, program, said

SERVER = "fs-1.fsx.us-west-2.amazonaws.com"
DEVICE = f"{SERVER}@tcp:/abcdefgh"
LINE = f"{DEVICE} /fsx lustre noatime,flock,_netdev,x-systemd.mount-timeout=90 0 0\n"


def node_with_client(root: Path) -> Node:
    node = build(root, mounts=(lustre(),))
    program(root, "mount.lustre", "sys.exit('only mount(8) runs this')")
    return node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return node_with_client(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_fleet_node.steps.mount_lustre._DEADLINE", 0.0)
    monkeypatch.setattr("llm_fleet_node.mounts.diagnosis._CONNECT_SECONDS", 0.3)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A server that listens on the port of the file system."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr("llm_fleet_node.steps.mount_lustre._PORT", listening.getsockname()[1])
        yield listening


def is_mounted(root: Path, device: str = DEVICE, kind: str = "lustre", options: str = "rw,noatime,flock") -> None:
    (root / "fsx").mkdir(exist_ok=True)
    file(root, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/fsx", device, kind, options=options))


def test_it_is_mounted_now_and_at_each_boot(node: Node, tmp_path: Path) -> None:
    changes = applied(STEP, node)
    assert changes == ["made the folder /fsx", "wrote /etc/fstab", f"mounted {DEVICE} at /fsx"]
    assert LINE in (tmp_path / "etc/fstab").read_text()
    assert list((tmp_path / "fsx").iterdir()) == []
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, node_with_client, tmp_path) == 3


def test_a_group_without_one_is_skipped(node: Node) -> None:
    assert STEP.skip(node) is None
    other = (lustre(groups=("others",)),)
    moved = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, mounts=other))
    assert STEP.skip(moved) == "group workers has no Lustre file system"


def test_mounts_of_the_platform_are_not_changed(node: Node, tmp_path: Path) -> None:
    before = (tmp_path / "etc/fstab").read_text()
    is_mounted(tmp_path, "10.9.0.1@tcp:/abcdefgh")  # as Lustre reports it: by address
    assert applied(STEP, node) == []
    assert (tmp_path / "etc/fstab").read_text() == before


def test_the_platforms_own_entry_is_used(node: Node, tmp_path: Path) -> None:
    file(tmp_path, "/etc/fstab", f"{DEVICE} /fsx lustre relatime,flock,_netdev 0 0\n")
    assert applied(STEP, node) == ["made the folder /fsx", f"mounted {DEVICE} at /fsx"]


def test_an_automount_is_followed(node: Node, tmp_path: Path) -> None:
    is_mounted(tmp_path)
    table = tmp_path / "proc/self/mountinfo"
    table.write_text(ROOT_MOUNT + mount_line("/fsx", "systemd-1", "autofs") + mount_line("/fsx", DEVICE, "lustre"))
    assert applied(STEP, node) == []


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        (f"{SERVER}@tcp:/another0", "lustre"),
        ("10.9.0.9@tcp:/abcdefgh", "lustre"),
        (DEVICE, "ext4"),
        ("/dev/nvme1n1", "xfs"),
    ],
    ids=["other share", "other server", "other type", "a disk"],
)
def test_another_file_system_at_its_path_is_reported(node: Node, tmp_path: Path, device: str, kind: str) -> None:
    is_mounted(tmp_path, device, kind)
    for refused in (STEP.apply, STEP.verify):
        with pytest.raises(Failure, match=f"LFN51  {device} of type {kind}"):
            refused(node)


@pytest.mark.parametrize(("device", "kind"), [("tmpfs", "tmpfs"), ("/dev/nvme1n1", "xfs"), ("/dev/root", "ext4")])
def test_without_lustre_in_the_kernel_no_other_file_system_is_accepted(
    node: Node, tmp_path: Path, device: str, kind: str
) -> None:
    """E.g. after a kernel upgrade without the Lustre module: otherwise each node would have its own /fsx."""
    file(tmp_path, "/proc/filesystems", "nodev\tproc\nnodev\ttmpfs\n")
    is_mounted(tmp_path, device, kind)
    for refused in (STEP.apply, STEP.verify):
        with pytest.raises(Failure, match=f"LFN51  {device} of type {kind} is mounted at /fsx instead of {DEVICE}"):
            refused(node)


def test_the_drills_emulated_mounts_are_accepted(node: Node, tmp_path: Path) -> None:
    """It lists the emulated mounts in a file, and they must match the manifest too."""
    is_mounted(tmp_path, "/dev/vda", "ext4")
    number = (tmp_path / "proc/self/mountinfo").read_text().splitlines()[-1].split(" ")[2]
    played = "/run/llm-fleet-drill/mounts"
    file(tmp_path, played, f"/home {number} nfs4 {SERVER}:/fsx\n/fsx {number} lustre {DEVICE}\n")
    STEP.verify(node)
    file(tmp_path, played, f"/fsx {number} lustre {SERVER}@tcp:/another0\n")
    with pytest.raises(Failure, match=r"LFN51  .*/another0 of type lustre"):
        STEP.verify(node)
    file(tmp_path, played, f"/fsx 0:99 lustre {DEVICE}\n")  # another file system was mounted over it
    with pytest.raises(Failure, match=r"LFN51  /dev/vda of type ext4"):
        STEP.verify(node)


def test_a_missing_mount_is_reported(node: Node) -> None:
    with pytest.raises(Failure, match="LFN51  nothing is mounted at /fsx"):
        STEP.verify(node)


def test_a_read_only_mount_is_reported(node: Node, tmp_path: Path) -> None:
    is_mounted(tmp_path, options="ro,flock")
    with pytest.raises(Failure, match="LFN51  /fsx is mounted read-only: ro,flock,rw"):
        STEP.verify(node)


def test_a_mount_that_cannot_be_written_is_reported(node: Node, tmp_path: Path) -> None:
    is_mounted(tmp_path)
    (tmp_path / "fsx").rmdir()
    with pytest.raises(Failure, match="LFN51  /fsx cannot be written: No such file"):
        STEP.verify(node)


def test_a_mount_that_returns_other_data_is_reported(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_mounted(tmp_path)

    def urandom(size: int) -> bytearray:
        return Changing(size)

    class Changing(bytearray):
        """Is never equal to the data that was written."""

        def __ne__(self, other: object) -> bool:
            return True

    monkeypatch.setattr(os, "urandom", urandom)
    with pytest.raises(Failure, match="LFN51  /fsx returned 64 bytes that are not the 64 written"):
        STEP.verify(node)
    assert list((tmp_path / "fsx").iterdir()) == []


def test_a_mount_that_loses_flushed_data_is_reported(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_mounted(tmp_path)

    def fsync(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Failure, match="LFN51  /fsx cannot be written: Input/output error"):
        STEP.verify(node)
    assert list((tmp_path / "fsx").iterdir()) == []


def test_a_leftover_test_file_of_a_killed_run_is_removed(node: Node, tmp_path: Path) -> None:
    is_mounted(tmp_path)
    (tmp_path / "fsx/.llm-fleet-ip-10-1-0-12").write_text("left")
    STEP.verify(node)
    assert list((tmp_path / "fsx").iterdir()) == []


def test_without_the_client_no_mount_is_tried(node: Node, tmp_path: Path) -> None:
    (tmp_path / "usr/bin/mount.lustre").unlink()
    with pytest.raises(Failure, match=r"LFN50  mount\.lustre is not on this node") as caught:
        STEP.apply(node)
    assert caught.value.final
    assert DEVICE not in (tmp_path / "etc/fstab").read_text()


@pytest.mark.parametrize(
    ("said", "code", "final"),
    [
        ("mount: /fsx: unknown filesystem type 'lustre'.", "LFN50", True),
        ("failed: No such device\nAre the lustre modules loaded?", "LFN50", True),
        ("failed: No such file or directory\nIs the MGS specification correct?", "LFN49", True),
        ("failed: Invalid argument\nIs 'x' the correct filesystem name?", "LFN49", True),
    ],
)
def test_errors_of_mount_are_mapped_to_causes(node: Node, tmp_path: Path, said: str, code: str, final: bool) -> None:
    file(tmp_path, "/mount-says", said)
    with pytest.raises(Failure, match=code) as caught:
        STEP.apply(node)
    assert caught.value.final is final


@pytest.mark.usefixtures("impatient")
def test_a_name_that_does_not_resolve(node: Node, tmp_path: Path) -> None:
    file(tmp_path, "/mount-says", "Can't parse NID")
    file(tmp_path, "/dns", "")
    with pytest.raises(Failure, match=f"LFN47  {SERVER} does not resolve within 5 s"):
        STEP.apply(node)


@pytest.mark.usefixtures("impatient")
def test_a_port_that_refuses_connections(node: Node, tmp_path: Path, server: socket.socket) -> None:
    server.close()
    file(tmp_path, "/mount-says", "failed: Input/output error")
    file(tmp_path, "/dns", f"127.0.0.1 {SERVER}\n")
    with pytest.raises(Failure, match=rf"LFN48  {SERVER} \(127\.0\.0\.1\) port \d+: Connection refused"):
        STEP.apply(node)


@pytest.mark.usefixtures("impatient")
def test_a_port_that_a_security_group_blocks(node: Node, tmp_path: Path, server: socket.socket) -> None:
    server.listen(0)
    address = server.getsockname()
    waiting = [socket.socket() for _ in range(4)]  # its queue is full: a new connection gets no answer
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(address)
    file(tmp_path, "/mount-says", "failed: Connection timed out")
    file(tmp_path, "/dns", f"127.0.0.1 {SERVER}\n")
    with pytest.raises(Failure, match=r"LFN48  .* no answer within 0.3 s; a security group may block it"):
        STEP.apply(node)
    for one in waiting:
        one.close()


@pytest.mark.usefixtures("impatient", "server")
def test_a_server_that_answers_but_rejects_the_mount(node: Node, tmp_path: Path) -> None:
    file(tmp_path, "/mount-says", "failed: Input/output error")
    file(tmp_path, "/dns", f"127.0.0.1 {SERVER}\n")
    with pytest.raises(Failure, match=r"LFN49  .* answers on port \d+, but mount ended with 1: failed: Input/output"):
        STEP.apply(node)


def test_temporary_errors_are_retried(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_fleet_node.mounts.mounting._PAUSE", 0.01)
    file(tmp_path, "/mount-says", "Can't parse NID")
    file(tmp_path, "/dns", "")
    program(
        tmp_path,
        "getent",
        f"""
assert a == ['ahostsv4', '{SERVER}'], a
os.unlink(root + '/mount-says')  # DNS has come to know it
sys.exit(2)
""",
    )
    STEP.apply(node)
    assert DEVICE in (tmp_path / "proc/self/mountinfo").read_text()


LCTL = """
import pathlib
known = {'ldlm.namespaces.*.lru_max_age': '3900000', 'ldlm.namespaces.*.lru_size': '0',
         'osc.*OST*.max_rpcs_in_flight': '8', 'mdc.*.max_rpcs_in_flight': '8', 'mdc.*.max_mod_rpcs_in_flight': '7',
         'osc.*.max_dirty_mb': '2000'}
place = pathlib.Path(root, 'lctl')
place.mkdir(exist_ok=True)
if a[:2] == ['get_param', '-n'] and len(a) == 3:
    kept = place / a[2]
    print('\\n'.join([kept.read_text() if kept.exists() else known[a[2]]] * 3))
elif a[0] == 'set_param' and len(a) == 2:
    name, value = a[1].split('=')
    assert name in known
    (place / name).write_text(value)
else:
    sys.exit(f'lctl: refused {a}')
"""


_REFUSES = """
if a == ['set_param', 'mdc.*.max_mod_rpcs_in_flight=50']:
    sys.exit('error: set_param: setting /sys/fs/lustre/mdc/x/max_mod_rpcs_in_flight=50: Numerical result out of range')
if a[-1] == 'ldlm.namespaces.*.lru_max_age':
    sys.exit('error: get_param: param_path ldlm/namespaces/*/lru_max_age: No such file or directory')
"""


def large(root: Path) -> Node:
    node = build(root, mounts=(lustre(),))
    program(root, "mount.lustre", "sys.exit('only mount(8) runs this')")
    node = dataclasses.replace(
        node, identity=dataclasses.replace(node.identity, group=dataclasses.replace(node.group, instance_types=(TRN1,)))
    )
    file(root, "/proc/cpuinfo", "processor\t: 0\nmodel name\t: x\n\n" * 128)
    file(root, "/proc/meminfo", "MemTotal:       528280576 kB\nMemFree: 1 kB\n")
    program(root, "lctl", LCTL)
    return node


def test_a_large_node_gets_the_settings_that_fsx_recommends(tmp_path: Path) -> None:
    node = large(tmp_path)
    changes = applied(STEP, node)
    assert [change for change in changes if change.startswith("set ")] == [
        "set ldlm.namespaces.*.lru_max_age to 600000",
        "set ldlm.namespaces.*.lru_size to 12800",
        "set osc.*OST*.max_rpcs_in_flight to 32",
        "set mdc.*.max_rpcs_in_flight to 64",
        "set mdc.*.max_mod_rpcs_in_flight to 50",
        "set osc.*.max_dirty_mb to 64",
    ]
    assert "ptlrpcd_per_cpt_max=32" in (tmp_path / "etc/modprobe.d/llm-fleet-lustre.conf").read_text()
    assert applied(STEP, node) == []


def test_settings_that_the_client_rejects_are_only_logged(tmp_path: Path) -> None:
    """If the server allows fewer modifying requests, its client rejects more; an older client has fewer settings.

    Source: assumption lustre-client-takes-fsx-tuning.
    """
    node = large(tmp_path)
    program(tmp_path, "lctl", _REFUSES + LCTL)
    changes = applied(STEP, node)
    assert [change for change in changes if change.startswith("set ")] == [
        "set ldlm.namespaces.*.lru_size to 12800",
        "set osc.*OST*.max_rpcs_in_flight to 32",
        "set mdc.*.max_rpcs_in_flight to 64",
        "set osc.*.max_dirty_mb to 64",
    ]
    assert "setting mdc.*.max_mod_rpcs_in_flight=50 could not be set" in said(node)
    assert "Numerical result out of range" in said(node)
    assert "setting ldlm.namespaces.*.lru_max_age=600000 could not be set" in said(node)


def test_a_large_node_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(STEP, large, tmp_path) == 10


def test_a_small_node_gets_no_tuning(tmp_path: Path) -> None:
    node = build(tmp_path, M5)
    file(tmp_path, "/proc/cpuinfo", "processor\t: 0\n" * 4)
    file(tmp_path, "/proc/meminfo", "MemTotal:       16000000 kB\n")
    assert wanted(node) == {}
