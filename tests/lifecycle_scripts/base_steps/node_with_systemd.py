"""A node in a folder, with strict stand-ins of systemctl, mount(8) and getent that record their calls in files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from llm_fleet_node.manifest_parts import InstanceType, Mount, S3Mount
from llm_fleet_node.node import Node
from tests.lifecycle_scripts.step_node import M5, file, make, program

OWN = "10.1.0.12"
NAME = "ip-10-1-0-12"
ROOT_MOUNT = "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n"

_SYSTEMCTL = """
units = root + '/systemd'
os.makedirs(units, exist_ok=True)
def known(unit):
    return any(os.path.exists(f'{root}/{folder}/system/{unit}') for folder in ('etc/systemd', 'usr/lib/systemd'))
def state(unit, what):
    return f'{units}/{unit}.{what}'
if a == ['daemon-reload']:
    open(units + '/reloaded', 'a').close()
elif a[:2] in (['is-active', '--quiet'], ['is-enabled', '--quiet']) and len(a) == 3:
    sys.exit(not os.path.exists(state(a[2], a[0][3:])))
elif a[0] == 'is-enabled' and len(a) == 2:
    system = root + '/etc/systemd/system'
    wants = [name for name in os.listdir(system) if name.endswith('.wants')] if os.path.exists(system) else []
    links = [name for name in wants if os.path.islink(f'{system}/{name}/{a[1]}')]
    print('enabled' if links else 'disabled')
    sys.exit(not links)
elif a[:2] == ['enable', '--quiet'] and len(a) == 3 and known(a[2]):
    open(state(a[2], 'enabled'), 'a').close()
elif a[0] in ('start', 'restart') and len(a) == 2 and known(a[1]):
    effect = f'{root}/on-start/{a[1]}'
    if os.path.exists(effect):
        import pathlib
        exec(open(effect).read())
    open(state(a[1], 'active'), 'a').close()
elif a[0] == 'stop' and len(a) == 2:
    if os.path.exists(state(a[1], 'active')):
        os.unlink(state(a[1], 'active'))
elif a[:3] == ['show', '--property=NeedDaemonReload', '--value'] and len(a) == 4:
    print('no' if os.path.exists(units + '/reloaded') else 'yes')
else:
    sys.exit(f'systemctl: refused {a}')
"""
_MOUNT = """
if os.path.exists(root + '/mount-says'):
    sys.exit(open(root + '/mount-says').read())
fstab = [line.split() for line in open(root + '/etc/fstab').read().splitlines()
         if line.strip() and not line.startswith('#')]
if len(a) == 1:
    lines = [line for line in fstab if line[1] == a[0]]
    assert len(lines) == 1, f'{len(lines)} entries for {a[0]}'
    device, path, kind, options, *_ = lines[0]
elif len(a) == 2:
    device, path = a
    kind, options = 'xfs', 'noatime'
    device = os.path.realpath(root + device)[len(root):]
    if not os.path.exists(root + '/mkfs/' + device.strip('/').replace('/', '-')):
        sys.exit(f'mount: {path}: wrong fs type, bad option, bad superblock on {device}')
else:
    sys.exit(f'mount: refused {a}')
options = [option for option in options.split(',') if not option.startswith(('x-', '_netdev', 'nofail'))]
assert os.path.isdir(root + '/' + path.strip('/')), f'mount: {path}: mount point does not exist.'
if device.startswith('/dev/'):
    device = os.path.realpath(root + device)[len(root):]  # as in the kernel table
name = device.rsplit('/', 1)[-1]
block = f'{root}/sys/block/{name}/dev'
number = open(block).read().strip() if os.path.exists(block) else '0:70'
with open(root + '/proc/self/mountinfo', 'a') as lines:
    lines.write(f"70 22 {number} / {path} rw,{','.join(options)} shared:9 - {kind} {device} rw\\n")
"""
_GETENT = """
assert a[0] == 'ahostsv4' and len(a) == 2, a
found = []
for line in open(os.path.join(root, 'etc/hosts')).read().splitlines():
    words = line.split('#')[0].split()
    if a[1] in words[1:]:
        found.append(words[0])
for line in open(os.path.join(root, 'dns')).read().splitlines():
    if not found and a[1] in line.split()[1:]:
        found.append(line.split()[0])
for address in found:
    for kind in ('STREAM', 'DGRAM', 'RAW'):
        print(f'{address:15} {kind:6} {a[1] if kind == "STREAM" else ""}'.rstrip())
sys.exit(0 if found else 2)
"""


def build(root: Path, *kinds: InstanceType, **manifest: Any) -> Node:
    """A compute node of HyperPod with name, address, root disk and the programs above."""
    node = make(root, *(kinds or (M5,)))
    file(root, "/proc/sys/kernel/hostname", f"{NAME}\n")
    file(root, "/proc/self/mountinfo", ROOT_MOUNT)
    file(root, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n")
    file(root, "/etc/fstab", "UUID=abc / ext4 defaults 0 1\n")
    file(root, "/dns", f"{OWN} {NAME}\n10.1.0.5 ip-10-1-0-5\n10.9.0.1 fs-1.fsx.us-west-2.amazonaws.com\n")
    file(root, "/proc/filesystems", "nodev\tproc\nnodev\tlustre\nnodev\tnfs4\n\text4\n")
    program(root, "systemctl", _SYSTEMCTL)
    program(root, "mount", _MOUNT)
    program(root, "getent", _GETENT)
    facts: dict[str, Any] = {"platform": "hyperpod", "mounts": (), "s3_mounts": (), **manifest}
    return dataclasses.replace(
        node,
        manifest=dataclasses.replace(node.manifest, **facts),
        identity=dataclasses.replace(node.identity, addresses=(OWN,), controllers=("10.1.0.5",)),
    )


def lustre(path: str = "/fsx", **other: Any) -> Mount:
    facts: dict[str, Any] = {
        "kind": "lustre",
        "dns_name": "fs-1.fsx.us-west-2.amazonaws.com",
        "mount_name": "abcdefgh",
        "mount_path": path,
        "efa": None,
        "groups": None,
    }
    return Mount(**{**facts, **other})


def open_zfs(path: str = "/home") -> Mount:
    return lustre(path, kind="open_zfs", mount_name=None)


def bucket(path: str = "/data", **other: Any) -> S3Mount:
    facts: dict[str, Any] = {
        "bucket": "my-data",
        "prefix": None,
        "mount_path": path,
        "read_only": True,
        "groups": None,
    }
    return S3Mount(**{**facts, **other})


def mount_line(path: str, device: str, kind: str, *, options: str = "rw", number: str = "0:70") -> str:
    """A line of the mount table."""
    return f"70 22 {number} / {path} {options} shared:9 - {kind} {device} rw\n"
