"""Lustre over EFA: setup of LNet before the mount, and the test with a transfer, which never fails a node."""

import dataclasses
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import EfaSystem, InstanceType
from llm_fleet_node.mounts.lustre_efa import UNIT
from llm_fleet_node.node import Node
from llm_fleet_node.steps.lustre_efa import STEP as PROOF
from llm_fleet_node.steps.mount_lustre import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, lustre, mount_line
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import M5, P5, TRN1, TRN2, file, program, said
from tests.pains.reported import reported

LNETCTL = """
import pathlib
if a == ['lnet', 'unconfigure']:
    sys.exit(0)
assert a == ['net', 'show', '-v', '--net', 'efa'], a
if not pathlib.Path(root, 'lnet-efa').exists():
    sys.exit('show:\\n    - net:\\n          errno: -100\\n          descr: "cannot get networks"')
seen = pathlib.Path(root, 'lnet-looks')
looks = int(seen.read_text()) if seen.exists() else 0
seen.write_text(str(looks + 1))
send, recv = [int(n) * looks for n in pathlib.Path(root, 'lnet-rises').read_text().split()]
print('net:\\n    - net type: efa\\n      local NI(s):')
for interface, name in enumerate(pathlib.Path(root, 'lnet-efa').read_text().split()):
    status = 'down' if pathlib.Path(root, 'down', name).exists() else 'up'
    print(f'        - nid: 10.1.0.1{interface}@efa\\n          status: {status}\\n          interfaces:\\n'
          f'              0: {name}\\n          statistics:')
    print(f'              send_count: {1000 + send}\\n              recv_count: {2000 + recv}\\n'
          f'              drop_count: 0')
"""
NET_ADD = """
unit = open(f'{root}/etc/systemd/system/llm-fleet-lnet.service').read()
devices = [line.split()[6] for line in unit.splitlines() if ' net add --net efa ' in line]
served_by_tcp_only = ('trn2', 'trn2u', 'c5n', 'g4dn', 'g5', 'i3en', 'p4d', 'p4de')
if open(f'{root}/instance-type').read().split('.')[1] in served_by_tcp_only:
    sys.exit('Job for llm-fleet-lnet.service failed: lnetctl: cannot add network: Invalid argument')
assert all(os.path.exists(f'{root}/sys/class/infiniband/{name}') for name in devices), devices
assert not any(' - lustre ' in line for line in open(f'{root}/proc/self/mountinfo')), 'LNet is in use'
loaded = os.path.exists(f'{root}/sys/module/lnet')
open(f'{root}/lnet-efa', 'w').write(' '.join(devices[:2] if loaded else devices))
"""
"""The effect of starting the unit: kefalnd uses the devices, except on types that FSx serves only over TCP.

With modules that were loaded before, it uses two, without an error.
Source: assumption lnet-over-efa-after-the-platforms-mount

Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html (2026-07): "EFA is
supported on Nitro v4 (or higher) EC2 instances that support EFA, excluding the trn2 instance family"; that it ends
there with an error: assumption lnet-over-efa-after-the-platforms-mount.
"""
ROUTE = (
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "ens5\t00000000\t0100010A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
)


UMOUNT = """
import pathlib
table = pathlib.Path(root, 'proc/self/mountinfo')
if pathlib.Path(root, 'busy').exists():
    sys.exit(f'umount: {a[0]}: target is busy.')
lines = table.read_text().splitlines(keepends=True)
kept = [line for line in lines if f' {a[0]} ' not in line]
assert len(a) == 1 and len(kept) == len(lines) - 1, a
table.write_text(''.join(kept))
"""
RMMOD = """
import shutil
assert not a and not any(' - lustre ' in line for line in open(f'{root}/proc/self/mountinfo')), a
if os.path.exists(f'{root}/lnet-held'):
    sys.exit('rmmod: ERROR: Module lnet is in use')
shutil.rmtree(f'{root}/sys/module/lnet')
"""
NAMES = ("rdmap16s27", "rdmap32s27")


def with_efa(
    root: Path,
    kind: InstanceType = TRN1,
    *,
    rises: str = "16 16",
    names: tuple[str, ...] = NAMES,
) -> Node:
    """A node with EFA interfaces, whose LNet counters increase at each reading."""
    node = build(root, kind, mounts=(lustre(efa=True),))
    for name in names:
        file(root, f"/sys/class/infiniband/{name}/device/vendor", "0x1d0f\n")
        file(root, f"/sys/class/infiniband/{name}/device/device", "0xefa1\n")
    file(root, "/proc/net/route", ROUTE)
    file(root, "/lnet-rises", rises)
    file(root, "/instance-type", kind.name)
    file(root, f"/on-start/{UNIT}", NET_ADD)
    program(root, "mount.lustre", "sys.exit(1)")
    program(root, "modprobe", "sys.exit(1)")
    program(root, "lnetctl", LNETCTL)
    program(root, "lustre_rmmod", RMMOD)
    return node


def test_lnet_is_set_up_before_the_mount_and_a_transfer_verifies_it(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    changes = applied(STEP, node)
    assert changes == [
        f"wrote /etc/systemd/system/{UNIT}",
        f"enabled {UNIT}",
        f"started {UNIT}",
        "made the folder /fsx",
        "wrote /etc/fstab",
        "mounted fs-1.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh at /fsx",
    ]
    assert applied(PROOF, node) == []
    assert said(node) == "/fsx uses EFA: recv_count rose by 32, send_count rose by 32"
    unit = (tmp_path / f"etc/systemd/system/{UNIT}").read_text()
    lnetctl = f"ExecStart={tmp_path}/usr/bin/lnetctl"
    assert f"{lnetctl} net add --net tcp --if ens5\n" in unit
    for name in ("rdmap16s27", "rdmap32s27"):
        assert f"{lnetctl} net add --net efa --if {name} --peer-credits 32\n" in unit
    assert "Before=remote-fs-pre.target" in unit
    assert list((tmp_path / "fsx").iterdir()) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, with_efa, tmp_path, ignore=["lnet-looks"]) == 6


def test_an_lnet_that_the_image_has_set_up_is_not_changed(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, "/lnet-efa", " ".join(NAMES))
    file(tmp_path, "/sys/module/lnet/version", "")
    applied(STEP, node)
    applied(PROOF, node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()


def mounted_by_hyperpod(root: Path, kind: InstanceType = TRN1, *, names: tuple[str, ...] = NAMES) -> Node:
    """A node of HyperPod whose platform has mounted Lustre over TCP before its hook, without an entry in fstab."""
    node = with_efa(root, kind, names=names)
    file(root, "/sys/module/lnet/version", "")
    (root / "fsx").mkdir()
    file(root, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/fsx", "10.9.0.1@tcp:/abcdefgh", "lustre"))
    program(root, "umount", UMOUNT)
    return node


def test_a_tcp_mount_of_hyperpod_is_mounted_again_over_efa(tmp_path: Path) -> None:
    node = mounted_by_hyperpod(tmp_path)
    changes = applied(STEP, node)
    assert changes[:2] == ["unmounted /fsx, which was mounted over TCP", "unloaded Lustre's modules"]
    assert changes[-1] == "mounted fs-1.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh at /fsx"
    applied(PROOF, node)
    assert said(node) == "/fsx uses EFA: recv_count rose by 32, send_count rose by 32"


def test_moving_hyperpods_mount_to_efa_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(STEP, mounted_by_hyperpod, tmp_path, ignore=["/lnet-looks"]) >= 5


def test_a_lustre_mount_in_use_stays_on_tcp_and_the_node_is_degraded(tmp_path: Path) -> None:
    node = mounted_by_hyperpod(tmp_path)
    file(tmp_path, "/busy", "")
    assert applied(STEP, node) == [], "the node starts"
    assert said(node) == "/fsx stays on TCP, because it is mounted and in use: umount: /fsx: target is busy."
    with pytest.raises(Failure, match="LFN52  LNet has no EFA network"):
        PROOF.verify(node)
    assert not PROOF.is_for_jobs


def test_another_lustre_mount_keeps_lnet_on_tcp(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/other", "10.9.0.2@tcp:/zyxw", "lustre"))
    applied(STEP, node)
    assert "Lustre is mounted at /other" in said(node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()


TCP_ONLY = dataclasses.replace(TRN2, lustre_efa_interfaces=0)


def test_a_type_that_fsx_serves_over_tcp_only_mounts_over_tcp(tmp_path: Path) -> None:
    node = with_efa(tmp_path, TCP_ONLY)
    applied(STEP, node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()
    assert (PROOF.skip(node) or "").startswith(
        "ml.trn2.48xlarge has no EFA, or FSx for Lustre supports only TCP for it"
    )


# Systems of images; FSx's guide lists the supported ones on the page configure-efa-clients.
UBUNTU_22 = 'NAME="Ubuntu"\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nID_LIKE=debian\n'
UBUNTU_24 = 'NAME="Ubuntu"\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\nID=ubuntu\n'
AL2023 = 'NAME="Amazon Linux"\nVERSION="2023"\nID="amzn"\nVERSION_ID="2023"\nPRETTY_NAME="Amazon Linux 2023.8"\n'
AL2 = 'NAME="Amazon Linux"\nVERSION="2"\nID="amzn"\nVERSION_ID="2"\nPRETTY_NAME="Amazon Linux 2"\n'
RHEL = 'ID="rhel"\nVERSION_ID="{}"\nPRETTY_NAME="Red Hat Enterprise Linux {} (Plow)"\n'
ROCKY = 'ID="rocky"\nVERSION_ID="9.6"\nPRETTY_NAME="Rocky Linux 9.6 (Blue Onyx)"\n'
SYSTEMS = (
    EfaSystem(id="amzn", version="2023", kernel=None),
    EfaSystem(id="rhel", version="9.5", kernel=None),
    EfaSystem(id="ubuntu", version="22.04", kernel="6.8"),
)


@pytest.mark.parametrize(
    ("release", "kernel", "served"),
    [
        (UBUNTU_22, "6.8.0-1021-aws", True),
        (UBUNTU_22, "6.5.0-1024-aws", False),
        (UBUNTU_22, "5.15.0-1084-aws", False),
        (UBUNTU_24, "6.17.0-1019-aws", True),
        (AL2023, "6.1.177-224.371.amzn2023.x86_64", True),
        (AL2, "5.10.239-236.958.amzn2.x86_64", False),
        (RHEL.format("9.10", "9.10"), "5.14.0-620.el9.x86_64", True),
        (RHEL.format("9.4", "9.4"), "5.14.0-427.el9.x86_64", False),
        (RHEL.format("8.10", "8.10"), "4.18.0-553.el8_10.x86_64", False),
        (ROCKY, "5.14.0-570.el9.x86_64", False),
        ("", "6.8.0", True),  # unknown: EFA is tried
        (UBUNTU_22, "", True),
    ],
)
def test_a_system_that_fsx_does_not_serve_over_efa_mounts_over_tcp(
    tmp_path: Path, release: str, kernel: str, served: bool
) -> None:
    node = with_efa(tmp_path)
    mounts = (lustre(efa=True, efa_systems=SYSTEMS),)
    node = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, mounts=mounts))
    file(tmp_path, "/etc/os-release", release)
    file(tmp_path, "/proc/sys/kernel/osrelease", kernel)
    applied(STEP, node)
    assert (tmp_path / f"etc/systemd/system/{UNIT}").exists() is served
    reason = PROOF.skip(node)
    assert (reason is None) is served
    if reason:
        assert kernel in reason
        assert "EFA only for amzn 2023, rhel 9.5, ubuntu 22.04 with kernel 6.8, or newer" in reason


def test_a_type_missing_in_the_catalog_falls_back_to_tcp(tmp_path: Path) -> None:
    """If the table is wrong or does not have the type, the setup fails and Lustre is mounted over TCP."""
    node = with_efa(tmp_path, TRN2)
    applied(STEP, node)
    assert "LNet could not be set up over rdmap16s27, rdmap32s27" in said(node)
    with pytest.raises(Failure, match="LFN52"):
        PROOF.verify(node)


P5_NAMES = tuple(f"rdmap{bus}s{slot}" for bus in (79, 96, 113, 130, 147, 164, 181, 198) for slot in range(4))


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        # One on each PCI bus, as FSx's script selects them (`NR % 4 == 1` of the sorted list).
        (
            dataclasses.replace(P5, lustre_efa_interfaces=8),
            [f"rdmap{bus}s0" for bus in (113, 130, 147, 164, 181, 198, 79, 96)],
        ),
        (dataclasses.replace(TRN1, lustre_efa_interfaces=2), ["rdmap113s0", "rdmap96s3"]),
        (dataclasses.replace(TRN1, lustre_efa_interfaces=1), ["rdmap113s0"]),
        (dataclasses.replace(TRN1, lustre_efa_interfaces=64), sorted(P5_NAMES)),
        (TRN1, ["rdmap113s0", "rdmap96s3"]),  # unknown type: treated like one that is not in FSx's table
    ],
)
def test_lnet_uses_as_many_interfaces_as_fsxs_script(tmp_path: Path, kind: InstanceType, taken: list[str]) -> None:
    """A file system has 1024 connections: with all 32 interfaces, 32 nodes of p5 would use them up."""
    applied(STEP, with_efa(tmp_path, kind, names=P5_NAMES))
    assert (tmp_path / "lnet-efa").read_text().split() == taken


P5_8 = dataclasses.replace(P5, lustre_efa_interfaces=8)


def test_loaded_modules_are_unloaded_so_that_all_interfaces_attach(tmp_path: Path) -> None:
    """Module options take effect when a module is loaded; AWS's own setup unloads the modules for that reason."""
    node = mounted_by_hyperpod(tmp_path, P5_8, names=P5_NAMES)
    applied(STEP, node)
    assert len((tmp_path / "lnet-efa").read_text().split()) == 8
    applied(PROOF, node)


def test_loaded_modules_are_logged_and_too_few_interfaces_are_degraded(tmp_path: Path) -> None:
    node = mounted_by_hyperpod(tmp_path, P5_8, names=P5_NAMES)
    file(tmp_path, "/lnet-held", "")
    assert applied(STEP, node)[-1].startswith("mounted fs-1")
    assert "Lustre's modules stay loaded with their current options: rmmod: ERROR: Module lnet is" in said(node)
    with pytest.raises(Failure, match=r"LFN52  LNet has 2 of 8 EFA interfaces up for /fsx \(rdmap113s0, .*\)"):
        PROOF.verify(node)


def test_an_interface_that_is_down_is_degraded(tmp_path: Path) -> None:
    node = with_efa(tmp_path)
    applied(STEP, node)
    applied(PROOF, node)
    file(tmp_path, f"/down/{NAMES[1]}", "")
    with pytest.raises(Failure, match="LFN52  LNet has 1 of 2 EFA interfaces up"):
        PROOF.verify(node)


@pytest.mark.parametrize("rises", ["0 0", "16 0", "0 16", "1 1"])
def test_tcp_is_detected_by_the_counters(tmp_path: Path, rises: str) -> None:
    node = with_efa(tmp_path, rises=rises)
    applied(STEP, node)
    with pytest.raises(
        Failure,
        match=r"LFN52  /fsx uses TCP instead of EFA",
    ) as failure:
        PROOF.verify(node)
    reported(10, failure.value, "/fsx uses TCP instead of EFA")


def test_a_node_without_its_efa_interfaces_is_degraded(tmp_path: Path) -> None:
    """Its type has EFA, so missing interfaces must not be accepted silently."""
    node = build(tmp_path, TRN1, mounts=(lustre(efa=True),))
    program(tmp_path, "mount.lustre", "sys.exit(1)")
    applied(STEP, node)
    with pytest.raises(Failure, match="LFN52  LNet has no EFA network"):
        PROOF.verify(node)


@pytest.mark.parametrize("efa", [False, None])
def test_tcp_is_accepted_if_the_fleet_disables_efa(tmp_path: Path, efa: bool | None) -> None:
    node = with_efa(tmp_path)
    node = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, mounts=(lustre(efa=efa),)))
    applied(STEP, node)
    assert not (tmp_path / f"etc/systemd/system/{UNIT}").exists()
    assert "has no Lustre file system with EFA" in (PROOF.skip(node) or "")


def test_tcp_is_accepted_on_a_type_without_efa(tmp_path: Path) -> None:
    node = build(tmp_path, M5, mounts=(lustre(efa=True),))
    program(tmp_path, "mount.lustre", "sys.exit(1)")
    applied(STEP, node)


@pytest.mark.parametrize(
    ("broken", "text", "says"),
    [
        (f"/on-start/{UNIT}", "sys.exit('Job for llm-fleet-lnet.service failed')", "LNet could not be set up over"),
        ("/proc/net/route", ROUTE.splitlines()[0], "LNet stays on TCP: without a default route"),
    ],
)
def test_a_failed_setup_is_logged_and_lustre_is_mounted_over_tcp(
    tmp_path: Path, broken: str, text: str, says: str
) -> None:
    node = with_efa(tmp_path)
    file(tmp_path, broken, text)
    assert "mounted fs-1.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh at /fsx" in applied(STEP, node)
    assert says in said(node)
    with pytest.raises(Failure, match="LFN52"):
        PROOF.verify(node)


def test_a_full_file_system_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import os

    node = with_efa(tmp_path)
    applied(STEP, node)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(Failure, match=r"LFN51  64 MiB cannot be written to and read from .*: No space left"):
        PROOF.verify(node)
    assert list((tmp_path / "fsx").iterdir()) == []
