"""Lustre over EFA: LNet's set-up, and the proof by a transfer."""

import dataclasses
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.mounts.lustre_efa import UNIT
from llm_fleet_node.node import Node
from llm_fleet_node.steps.mount_lustre import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, lustre, mount_line
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.moved_node import M5, TRN1, InstanceType, Said, file, program
from tests.pains.told import told

LNETCTL = """
import pathlib
assert a == ['net', 'show', '-v', '--net', 'efa'], a
if not pathlib.Path(root, 'lnet-efa').exists():
    sys.exit('show:\\n    - net:\\n          errno: -100\\n          descr: "cannot get networks"')
seen = pathlib.Path(root, 'lnet-looks')
looks = int(seen.read_text()) if seen.exists() else 0
seen.write_text(str(looks + 1))
send, recv = [int(n) * looks for n in pathlib.Path(root, 'lnet-rises').read_text().split()]
print('net:\\n    - net type: efa\\n      local NI(s):')
for interface in range(2):
    print(f'        - nid: 10.1.0.1{interface}@efa\\n          status: up\\n          statistics:')
    print(f'              send_count: {1000 + send}\\n              recv_count: {2000 + recv}\\n'
          f'              drop_count: 0')
"""
ROUTE = (
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "ens5\t00000000\t0100010A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
)


def with_efa(root: Path, kind: InstanceType = TRN1, *, rises: str = "16 16", said: Said | None = None) -> Node:
    """A node with two EFA interfaces, whose LNet counts messages over them at each look."""
    node = build(root, kind, said=said, mounts=(lustre(efa=True),))
    for name in ("rdmap16s27", "rdmap32s27"):
        file(root, f"/sys/class/infiniband/{name}/device/vendor", "0x1d0f\n")
        file(root, f"/sys/class/infiniband/{name}/device/device", "0xefa1\n")
    file(root, "/proc/net/route", ROUTE)
    file(root, "/lnet-rises", rises)
    file(root, f"/on-start/{UNIT}", "pathlib.Path(root, 'lnet-efa').touch()\n")
    program(root, "mount.lustre", "sys.exit(1)")
    program(root, "modprobe", "sys.exit(1)")
    program(root, "lnetctl", LNETCTL)
    return node


def test_lnet_is_set_up_before_the_mount_and_the_transfer_proves_it(tmp_path: Path) -> None:
    said = Said()
    changes = applied(STEP, with_efa(tmp_path, said=said))
    assert changes == [
        f"wrote /etc/systemd/system/{UNIT}",
        f"enabled {UNIT}",
        f"started {UNIT}",
        "made the folder /fsx",
        "wrote /etc/fstab",
        "mounted fs-1.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh at /fsx",
    ]
    assert said.lines == ["/fsx is carried by EFA: recv_count rose by 32, send_count rose by 32"]
    unit = (tmp_path / f"etc/systemd/system/{UNIT}").read_text()
    lnetctl = f"ExecStart={tmp_path}/usr/bin/lnetctl"
    assert f"{lnetctl} net add --net tcp --if ens5\n" in unit
    for name in ("rdmap16s27", "rdmap32s27"):
        assert f"{lnetctl} net add --net efa --if {name} --peer-credits 32\n" in unit
    assert "Before=remote-fs-pre.target" in unit
    assert list((tmp_path / "fsx").iterdir()) == []


def test_killed_anywhere_it_converges(tmp_path: Path) -> None:
    assert converges(STEP, with_efa, tmp_path, ignore=["lnet-looks"]) == 6


def test_what_the_image_has_set_up_is_left_alone(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, "/lnet-efa", "")
    applied(STEP, node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()


def test_a_mounted_lustre_is_not_pulled_from_under_anybody(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    (tmp_path / "fsx").mkdir()
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/fsx", "10.9.0.1@tcp:/abcdefgh", "lustre"))
    STEP.apply(node)
    with pytest.raises(Failure, match="LFN52  LNet has no network over EFA"):
        STEP.verify(node)


@pytest.mark.parametrize("rises", ["0 0", "16 0", "0 16", "1 1"])
def test_tcp_is_refused_by_the_counters(tmp_path: Path, rises: str) -> None:
    node = with_efa(tmp_path, rises=rises)
    STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN52  64 MiB were written to and read from /fsx, but on EFA") as failure:
        STEP.verify(node)
    told(10, failure.value, "64 MiB were written to and read from /fsx, but on EFA")


def test_a_node_whose_efa_is_missing_is_refused(tmp_path: Path) -> None:
    """Its type has EFA: that it has none is no reason to be content with TCP."""
    node = build(tmp_path, TRN1, mounts=(lustre(efa=True),))
    program(tmp_path, "mount.lustre", "sys.exit(1)")
    STEP.apply(node)
    with pytest.raises(Failure, match="LFN52  LNet has no network over EFA"):
        STEP.verify(node)


@pytest.mark.parametrize("efa", [False, None])
def test_tcp_is_right_where_the_fleet_says_so(tmp_path: Path, efa: bool | None) -> None:
    node = with_efa(tmp_path)
    node = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, mounts=(lustre(efa=efa),)))
    applied(STEP, node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()


def test_tcp_is_right_on_a_type_without_efa(tmp_path: Path) -> None:
    node = build(tmp_path, M5, mounts=(lustre(efa=True),))
    program(tmp_path, "mount.lustre", "sys.exit(1)")
    applied(STEP, node)


def test_a_set_up_that_fails_is_told(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, f"/on-start/{UNIT}", "sys.exit('Job for llm-fleet-lnet.service failed')")
    with pytest.raises(Failure, match=r"LFN52  LNet could not be set up over rdmap16s27, rdmap32s27"):
        STEP.apply(node)


def test_without_a_default_route_lnet_has_no_interface(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, "/proc/net/route", ROUTE.splitlines()[0])
    with pytest.raises(Failure, match="LFN52  there is no default route"):
        STEP.apply(node)


def test_a_full_file_system_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import os

    node = with_efa(tmp_path)
    STEP.apply(node)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(Failure, match=r"LFN51  64 MiB cannot be written to and read from .*: No space left"):
        STEP.verify(node)
    assert list((tmp_path / "fsx").iterdir()) == []
