"""Metric filters: CloudFormation has a list of dimensions, the API a mapping.

Source: model CloudFormation AWS::Logs::MetricFilter
Source: model botocore logs PutMetricFilter
"""

from typing import Any

from llm_fleet_local.aws.resources.situation import Situation


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Convert the dimensions of every transformation to a mapping."""
    transformations: list[dict[str, Any]] = properties.get("MetricTransformations", [])
    return properties | {"MetricTransformations": [_mapped(one) for one in transformations]}


def _mapped(transformation: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(transformation.get("Dimensions"), list):
        return transformation
    dimensions = {one["Key"]: one["Value"] for one in transformation["Dimensions"]}
    return transformation | {"Dimensions": dimensions}
