"""Disks of instances below /sys/block, as the kernel shows them, and stand-ins of the programs that change them."""

from __future__ import annotations

from pathlib import Path

from llm_fleet_node.disks.device import INSTANCE_STORE
from tests.lifecycle_scripts.step_node import file, program

EBS = "Amazon Elastic Block Store"
GIB = 1 << 30


def disk(
    root: Path, name: str, number: str, model: str = INSTANCE_STORE, *, gib: int = 1900, partitions: int = 0
) -> None:
    """One NVMe disk. The kernel pads the model."""
    file(root, f"/sys/block/{name}/dev", f"{number}\n")
    file(root, f"/sys/block/{name}/device/model", f"{model:<40}\n")
    file(root, f"/sys/block/{name}/device/serial", f"AWS-{name}\n")
    file(root, f"/sys/block/{name}/size", f"{gib * GIB // 512}\n")
    (root / f"sys/block/{name}/holders").mkdir()
    (root / f"sys/block/{name}/slaves").mkdir()
    major, _, minor = number.partition(":")
    for part in range(1, partitions + 1):
        file(root, f"/sys/block/{name}/{name}p{part}/partition", f"{part}\n")
        file(root, f"/sys/block/{name}/{name}p{part}/dev", f"{major}:{int(minor) + part}\n")
    file(root, f"/dev/{name}", "")


def array(root: Path, name: str, number: str, *members: str) -> None:
    """A RAID array or logical volume of `members`."""
    file(root, f"/sys/block/{name}/dev", f"{number}\n")
    file(root, f"/sys/block/{name}/size", f"{len(members) * 1900 * GIB // 512}\n")
    (root / f"sys/block/{name}/holders").mkdir()
    for member in members:
        (root / f"sys/block/{name}/slaves/{member}").mkdir(parents=True)
        (root / f"sys/block/{member}/holders/{name}").mkdir(parents=True)
    file(root, f"/dev/{name}", "")


def makers(root: Path) -> None:
    """Strict stand-ins of blkid, mdadm and mkfs.xfs, which record what they made in `mkfs/` and `carries/`."""
    program(
        root,
        "blkid",
        """
assert a[0] == '--probe' and len(a) == 2, a
name = os.path.realpath(root + a[1])[len(root):].strip('/').replace('/', '-')
sys.exit(0 if os.path.exists(f'{root}/mkfs/{name}') or os.path.exists(f'{root}/carries/{name}') else 2)
""",
    )
    program(
        root,
        "mdadm",
        """
assert a[:6] == ['--create', '/dev/md/llm-fleet', '--name=llm-fleet', '--level=0', '--homehost=any',
                 f'--raid-devices={len(a) - 7}'], a
assert a[6] == '--run' and len(a) > 8, a
md = root + '/sys/block/md127'
for folder in (md, md + '/slaves', md + '/holders', root + '/dev/md'):
    os.mkdir(folder)
with open(md + '/dev', 'w') as number:
    number.write('9:127')
open(root + '/dev/md127', 'a').close()
os.symlink('../md127', root + '/dev/md/llm-fleet')
for path in a[7:]:
    name = path.rsplit('/', 1)[1]
    os.mkdir(f'{md}/slaves/{name}')
    os.mkdir(f'{root}/sys/block/{name}/holders/md127')
    os.makedirs(root + '/carries', exist_ok=True)
    open(f'{root}/carries/dev-{name}', 'a').close()
""",
    )
    program(
        root,
        "mkfs.xfs",
        """
assert a[:4] == ['-q', '-f', '-L', 'llm-fleet'] and len(a) == 5, a
os.makedirs(root + '/mkfs', exist_ok=True)
made = root + '/mkfs/' + os.path.realpath(root + a[4])[len(root):].strip('/').replace('/', '-')
assert not os.path.exists(made), f'{a[4]} is wiped'
open(made, 'a').close()
""",
    )
