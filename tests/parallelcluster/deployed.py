"""A cluster's configuration as the provider receives it: with the attributes of the published bundle."""

import io
import re
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import boto3
from aws_cdk.assertions import Template
from moto import mock_aws

from llm_fleet.lifecycle.publisher.handler import (
    Request,
    _data,  # pyright: ignore[reportPrivateUsage]
    publish,
)

_ASSETS, _BUCKET = "assets", "sagemaker-scripts"


def configuration_of(stack: cdk.Stack) -> dict[str, Any]:
    """Publish the stack's only bundle with the function's code into moto's S3; return the resolved configuration."""
    template = Template.from_stack(stack)
    ((bundle_id, bundle),) = template.find_resources("Custom::LlmFleetBundle").items()
    (cluster,) = template.find_resources("Custom::PclusterCluster").values()
    attributes = _published(stack, bundle["Properties"])
    return filled_in(cluster["Properties"]["ClusterConfiguration"], bundle_id, attributes)


def filled_in(value: Any, bundle_id: str, attributes: dict[str, str]) -> Any:
    """Return `value` with the attributes of the bundle resolved."""
    match value:
        case {"Fn::GetAtt": [str(name), str(attribute)]} if name == bundle_id:
            return attributes[attribute]
        case {"Fn::Join": [str(delimiter), parts]}:
            return delimiter.join(str(filled_in(part, bundle_id, attributes)) for part in cast("list[Any]", parts))
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: filled_in(item, bundle_id, attributes) for key, item in items}
        case list():
            return [filled_in(item, bundle_id, attributes) for item in cast("list[Any]", value)]
        case _:
            return value


def _published(stack: cdk.Stack, properties: dict[str, Any]) -> dict[str, str]:
    app = cast(cdk.App, stack.node.root)
    texts = {key: _text(value) for key, value in properties.items()} | {"SourceBucket": _ASSETS, "Bucket": _BUCKET}
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")
        for bucket in (_ASSETS, _BUCKET):
            s3.create_bucket(Bucket=bucket)
        archive = Path(app.outdir, f"asset.{texts['SourceKey']}").read_bytes()
        s3.put_object(Bucket=_ASSETS, Key=texts["SourceKey"], Body=io.BytesIO(archive))
        request = Request.read(texts)
        return _data(request, publish(s3, request))


def _text(value: Any) -> str:
    """Return `value` as text; the bucket's name, a token, is replaced by a fixed name."""
    match value:
        case {"Fn::Join": [str(delimiter), parts]}:
            return delimiter.join(map(_text, cast("list[Any]", parts)))
        case dict():
            return re.sub(r"\W", "", str(cast("dict[str, Any]", value)))
        case _:
            return str(value)
