"""FSx for OpenZFS: the API takes `Options` at deletion only; creation does not support them.

Source: model botocore fsx DeleteFileSystemOpenZFSConfiguration
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Move `OpenZFSConfiguration.Options` to `extra.options`."""
    configuration: dict[str, Any] = properties.get("OpenZFSConfiguration", {})
    if "Options" not in configuration:
        return properties
    at.extra["options"] = configuration["Options"]
    return properties | {
        "OpenZFSConfiguration": {name: one for name, one in configuration.items() if name != "Options"}
    }
