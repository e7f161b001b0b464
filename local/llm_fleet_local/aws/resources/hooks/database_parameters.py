"""Parameter groups: CloudFormation has a mapping of parameters, the API a list with the apply method of each.

Source: model CloudFormation AWS::RDS::DBParameterGroup
Source: model botocore rds ModifyDBParameterGroup
"""

from typing import Any, cast

from llm_fleet_local.aws.resources.situation import Situation


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Convert `Parameters` to the API's list; all are applied at the next restart, as by CloudFormation."""
    parameters = cast("dict[str, Any] | None", properties.get("Parameters"))
    if parameters is None:
        return properties
    return properties | {
        "Parameters": [
            {"ParameterName": name, "ParameterValue": str(value), "ApplyMethod": "pending-reboot"}
            for name, value in parameters.items()
        ]
    }
