"""Pins packages for every pip on this machine, and sets the default bucket of the SageMaker SDK. Downloads nothing.

It runs as root at each start, when everything outside of /home/ec2-user/SageMaker is new.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from pathlib import Path

from notebook_instance.places import CONSTRAINTS, PIP_CONF, SDK_CONF, SETTINGS, at

_COMMANDS = ("install", "download", "wheel")
"""The pip commands that choose versions."""


def main() -> int:
    """Write the configuration of pip and the SageMaker SDK."""
    settings = json.loads(at(SETTINGS).read_text(encoding="utf-8"))
    if settings["pins"]:
        pin(settings["pins"])
    report_sdk(settings["bucket"])
    return 0


def pin(pins: list[str]) -> None:
    """Make `pins` constraints of every pip install. The platform's own configuration of pip is kept."""
    _write(at(CONSTRAINTS), "".join(f"{pin}\n" for pin in pins))
    parser = configparser.RawConfigParser()
    parser.read(at(PIP_CONF), encoding="utf-8")
    for command in _COMMANDS:
        # A value of a command replaces that in [global]; so the global value is copied into it.
        section = command if parser.has_option(command, "constraint") else "global"
        files = parser.get(section, "constraint", fallback="").split()
        if not parser.has_section(command):
            parser.add_section(command)
        parser.set(command, "constraint", "\n".join(dict.fromkeys([*files, str(at(CONSTRAINTS))])))
    lines: list[str] = []
    for section in parser.sections():
        lines += [f"[{section}]", *(f"{key} = {_indented(value)}" for key, value in parser.items(section)), ""]
    _write(at(PIP_CONF), "\n".join(lines))


def report_sdk(bucket: str) -> None:
    """Make `sagemaker.Session().default_bucket()` return `bucket`, so that the SDK does not create one."""
    path = at(SDK_CONF)
    if path.exists():
        print(f"{path} exists and is kept unchanged", flush=True)
        return
    session = {"DefaultS3Bucket": bucket}
    reported = {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": {"Session": session}}}}
    _write(path, json.dumps(reported, indent=2) + "\n")  # JSON is YAML


def _indented(value: str) -> str:
    return value.replace("\n", "\n    ")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.chmod(new, 0o644)
    os.replace(new, path)


if __name__ == "__main__":
    sys.exit(main())
