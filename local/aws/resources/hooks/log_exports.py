"""Databases: which logs an update starts and stops sending to CloudWatch, in the form that the API requires.

Source: model botocore rds CloudwatchLogsExportConfiguration
"""

from typing import Any

from local.aws.resources.situation import Situation, Stage

_EXPORTS = "EnableCloudwatchLogsExports"


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Work out `extra.begun` and `extra.ended`."""
    if at.stage is Stage.UPDATE:
        now, before = at.props.get(_EXPORTS, []), at.old.get(_EXPORTS, [])
        at.extra["begun"] = [name for name in now if name not in before]
        at.extra["ended"] = [name for name in before if name not in now]
    return properties
