"""The state of a node, for comparisons: contents of its files, units and mounts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from llm_fleet_local.drill.nodes.node import Node

_PROGRAM = r"""
import hashlib, json, os, stat, subprocess, sys
roots, passed = json.loads(sys.argv[1])
found = {}
def look(path):
    entry = os.lstat(path)
    kind = stat.S_IFMT(entry.st_mode)
    what = [oct(entry.st_mode), entry.st_uid, entry.st_gid]
    if stat.S_ISLNK(kind):
        what = ["link", os.readlink(path)]
    elif stat.S_ISREG(kind):
        with open(path, "rb") as file:
            what.append(hashlib.sha256(file.read()).hexdigest())
    found[path] = what
for root in roots:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in passed]
        for name in folders + files:
            path = os.path.join(folder, name)
            if path not in passed:
                look(path)
units = subprocess.run(
    ["systemctl", "list-unit-files", "--type=service,socket,timer", "--no-legend", "--plain", "--state=enabled"],
    capture_output=True, text=True).stdout
active = subprocess.run(
    ["systemctl", "list-units", "--type=service,timer", "--no-legend", "--plain", "--state=active,failed"],
    capture_output=True, text=True).stdout
found["enabled units"] = sorted(line.split()[0] for line in units.splitlines())
found["units that run"] = sorted(
    " ".join(line.split()[:4]) for line in active.splitlines() if not line.startswith(("user", "session-", "systemd-")))
found["all mounts"] = sorted(
    " ".join(line.split()[4:6]) for line in open("/proc/self/mountinfo") if "/run/user" not in line)
json.dump(found, sys.stdout)
"""
_ROOTS = (
    "/etc",
    "/opt/slurm-24.11/etc",
    "/opt/llm-fleet",
    "/opt/ml",
    "/home",
    "/root",
    "/usr/local",
    "/var/spool/cron",
)
_PASSED = (
    "/etc/.updated",
    "/etc/mtab",
    "/etc/resolv.conf",
    "/root/.aws/cli",
    "/root/.cache",
    "/usr/local/lib/drill",
)
"""Paths that are not compared: they change by themselves, or belong to the drill."""


def fingerprint(node: Node) -> dict[str, object]:
    """Return the hash, mode and owner of files in the folders that steps write to, and the node's units and mounts."""
    arguments = json.dumps([_ROOTS, _PASSED])
    return json.loads(node.run("python3", "-c", _PROGRAM, arguments, timeout=120).stdout)


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return the differences, one line each: removed and new items of a list, or both states of a file."""
    found: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if " " in name and isinstance(old, list) and isinstance(new, list):
            gone = sorted(map(str, cast("list[object]", old)))
            come = sorted(map(str, cast("list[object]", new)))
            found += [f"{name}: no more {item}" for item in gone if item not in come]
            found += [f"{name}: now {item}" for item in come if item not in gone]
        else:
            found.append(f"{name}: was {old}, is {new}")
    return found
