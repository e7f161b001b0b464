"""Pins packages for every pip on this machine, and tells the SageMaker SDK which bucket to use. Fetches nothing.

It runs as root at each start: everything outside of /home/ec2-user/SageMaker is new then.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from pathlib import Path

from notebook_instance.places import CONSTRAINTS, PIP_CONF, SDK_CONF, SETTINGS, at

_COMMANDS = ("install", "download", "wheel")
"""The commands of pip that choose versions."""


def main() -> int:
    """Write what the settings ask for."""
    settings = json.loads(at(SETTINGS).read_text(encoding="utf-8"))
    if settings["pins"]:
        pin(settings["pins"])
    report_sdk(settings["bucket"])
    return 0


def pin(pins: list[str]) -> None:
    """Have pip take nothing that `pins` exclude, whatever a notebook asks for. What the platform configures stays."""
    _write(at(CONSTRAINTS), "".join(f"{pin}\n" for pin in pins))
    parser = configparser.RawConfigParser()
    parser.read(at(PIP_CONF), encoding="utf-8")
    for command in _COMMANDS:
        # A value of a command takes the place of that in [global]; so what stands there is taken along.
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
    """Have `sagemaker.Session().default_bucket()` be `bucket`, in place of one that the SDK would make for itself."""
    path = at(SDK_CONF)
    if path.exists():
        print(f"{path} is there already: left as it is", flush=True)
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
