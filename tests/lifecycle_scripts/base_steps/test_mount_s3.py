"""The step mount_s3."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node import disks
from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import S3Mount
from llm_fleet_node.mounts.s3_unit import unit_name
from llm_fleet_node.node import Node
from llm_fleet_node.steps.mount_s3 import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import bucket, build, mount_line
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import file, program

UNIT = "llm-fleet-s3-data.service"
_MOUNTS = """
table = pathlib.Path(root, 'proc/self/mountinfo')
table.write_text(''.join(line + '\\n' for line in table.read_text().splitlines() if ' {path} ' not in line) + {line!r})
"""


def with_buckets(root: Path, *mounts: S3Mount) -> Node:
    """A node with Mountpoint, whose units mount when they are started."""
    node = build(root, s3_mounts=mounts or (bucket(),))
    file(root, disks.FILE, json.dumps(Layout.on("/opt/dlami/nvme", "nvme").as_document()))
    program(root, "mount-s3", "sys.exit('only the unit runs this')")
    program(root, "umount", "sys.exit('only the unit runs this')")
    for mount in node.manifest.s3_mounts:
        options = "ro,nosuid" if mount.read_only else "rw,nosuid"
        line = mount_line(mount.mount_path, "mountpoint-s3", "fuse", options=options)
        file(root, f"/on-start/{unit_name(mount)}", _MOUNTS.format(path=mount.mount_path, line=line))
    program(root, "journalctl", "print('Error: Failed to create S3 client\\n  access denied')")
    return node


def reported(node: Node, **changed: Any) -> Node:
    return dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, s3_mounts=(bucket(**changed),)))


def unit(root: Path, name: str = UNIT) -> str:
    return (root / "etc/systemd/system" / name).read_text()


def test_a_bucket_is_a_read_only_unit_with_a_cache_on_the_fast_disk(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    changes = applied(STEP, node)
    assert changes == [
        "made the folder /data",
        f"wrote /etc/systemd/system/{UNIT}",
        f"enabled {UNIT}",
        f"started {UNIT}",
    ]
    call = f"ExecStart={tmp_path}/usr/bin/mount-s3 my-data /data --region us-west-2 --allow-other"
    assert f"{call} --cache /opt/dlami/nvme/s3-cache/data --read-only\n" in unit(tmp_path)
    assert "RequiresMountsFor=/opt/dlami/nvme/s3-cache/data\n" in unit(tmp_path)
    assert "After=network-online.target dlami-nvme.service\n" in unit(tmp_path)
    assert "ExecStartPre=/bin/mkdir -p -m 0700 /opt/dlami/nvme/s3-cache/data /data\n" in unit(tmp_path)
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, with_buckets, tmp_path) == 4


def test_a_prefix_ends_with_a_slash_and_all_users_can_write_a_writable_bucket(tmp_path: Path) -> None:
    node = with_buckets(tmp_path, bucket("/mnt/my-models", prefix="models/llama", read_only=False))
    applied(STEP, node)
    text = unit(tmp_path, r"llm-fleet-s3-mnt-my\x2dmodels.service")
    assert "--prefix models/llama/ --dir-mode 0777 --file-mode 0666\n" in text
    assert "--read-only" not in text


def test_two_buckets_have_two_caches(tmp_path: Path) -> None:
    node = with_buckets(tmp_path, bucket("/a"), bucket("/b", bucket="other"))
    applied(STEP, node)
    assert "/s3-cache/a " in unit(tmp_path, "llm-fleet-s3-a.service")
    assert "/s3-cache/b " in unit(tmp_path, "llm-fleet-s3-b.service")


def test_a_changed_bucket_is_stopped_written_and_started(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    applied(STEP, node)
    assert applied(STEP, reported(node, bucket="another")) == [
        f"stopped {UNIT}",
        f"wrote /etc/systemd/system/{UNIT}",
        f"started {UNIT}",
    ]


def test_a_change_that_systemd_has_not_read_is_applied_after_a_kill(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    applied(STEP, node)
    (tmp_path / "systemd/reloaded").unlink()
    assert applied(STEP, node) == []
    assert (tmp_path / "systemd/reloaded").exists()


def test_a_group_without_one_is_skipped(tmp_path: Path) -> None:
    assert STEP.skip(build(tmp_path)) == "group workers mounts no bucket"
    assert STEP.skip(build(tmp_path, s3_mounts=(bucket(groups=("others",)),))) is not None
    assert STEP.skip(build(tmp_path, s3_mounts=(bucket(groups=("workers",)),))) is None


def test_the_missing_program_is_installed_from_the_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = with_buckets(tmp_path)
    (tmp_path / "usr/bin/mount-s3").unlink()

    def install(given: Node, names: list[str]) -> None:
        assert names == ["mount-s3"]
        program(given.host.root, "mount-s3", "sys.exit(1)")

    monkeypatch.setattr("llm_fleet_node.packages.install", install)
    applied(STEP, node)


def test_a_mount_that_fails_is_reported_with_the_journal(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    file(tmp_path, f"/on-start/{UNIT}", "sys.exit(1)")
    said = "Error: Failed to create S3 client access denied"
    with pytest.raises(Failure, match=f"LFN54  s3://my-data cannot be mounted at /data: {said}"):
        STEP.apply(node)


def test_an_unmounted_bucket_is_reported(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    program(tmp_path, "journalctl", "sys.exit(1)")
    with pytest.raises(Failure, match=f"LFN54  nothing is mounted at /data: see `journalctl -u {UNIT}`"):
        STEP.verify(node)


def test_a_writable_bucket_is_reported_if_the_fleet_sets_read_only(tmp_path: Path) -> None:
    node = reported(with_buckets(tmp_path), read_only=False)
    file(tmp_path, f"/on-start/{UNIT}", _MOUNTS.format(path="/data", line=mount_line("/data", "mountpoint-s3", "fuse")))
    STEP.apply(node)
    with pytest.raises(Failure, match="LFN54  /data can be written, but the fleet configures it as read-only"):
        STEP.verify(reported(node))


def test_a_bucket_that_cannot_be_listed_is_reported(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    STEP.apply(node)
    (tmp_path / "data").rmdir()
    with pytest.raises(Failure, match="LFN54  s3://my-data at /data cannot be listed: No such file"):
        STEP.verify(node)


def test_it_requires_the_step_disks(tmp_path: Path) -> None:
    node = with_buckets(tmp_path)
    (tmp_path / disks.FILE.lstrip("/")).unlink()
    with pytest.raises(Failure, match="LFN45"):
        STEP.apply(node)
