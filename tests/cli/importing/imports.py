"""Imports of files, and their results."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.importing.importer import Imported, ImportFailure, import_request

DATA = Path(__file__).parents[2] / "data"
CONTROLLER = {"InstanceGroupName": "controller", "InstanceType": "ml.m5.xlarge", "InstanceCount": 1}
WORKERS = {"InstanceGroupName": "workers", "InstanceType": "ml.trn1.32xlarge", "InstanceCount": 4}
FSX = {"DnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "MountName": "abcd1234"}
VPC = {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": ["subnet-0123456789abcdef0"]}
PLACED: dict[str, Any] = {"zones": ("usw2-az4",), "vpc": "vpc-0123456789abcdef0"}
"""Options for an existing network."""


def imported(folder: Path, content: Any, *, name: str = "my-request.json", **options: Any) -> Imported:
    """Import `content`, a text or a value of JSON or YAML, as the file `name`."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return import_request(path, **options)


def failure(folder: Path, content: Any, **options: Any) -> ImportFailure:
    """Return the error of an import that must fail."""
    with pytest.raises(ImportFailure) as caught:
        imported(folder, content, **options)
    return caught.value


def outcome(folder: Path, content: Any, **options: Any) -> str:
    """Return the fleet file and all notes, or the error."""
    try:
        result = imported(folder, content, **options)
    except ImportFailure as refused:
        return str(refused)
    return "\n".join([result.text, *map(str, result.notes)])
