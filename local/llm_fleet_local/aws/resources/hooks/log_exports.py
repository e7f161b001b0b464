"""Databases: the log exports that an update enables and disables, in the API's form.

Source: model botocore rds CloudwatchLogsExportConfiguration
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation, Stage

_EXPORTS = "EnableCloudwatchLogsExports"


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Set `extra.begun` and `extra.ended`."""
    if at.stage is Stage.UPDATE:
        now, before = at.props.get(_EXPORTS, []), at.old.get(_EXPORTS, [])
        at.extra["begun"] = [name for name in now if name not in before]
        at.extra["ended"] = [name for name in before if name not in now]
    return properties
