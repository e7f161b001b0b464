"""Models, endpoint configurations and endpoints, as requested and as the service returns them.

Source: model botocore sagemaker DescribeEndpoint
"""

import time
from typing import Any

from llm_fleet_local.aws.resources.moto_fixes.json_api import known_members


class _Record:
    """The base of the three. moto's own operations use `arn` and `tags`."""

    kind: str
    """The resource type in the ARN."""
    output: str
    """The output shape of its Describe operation."""

    def __init__(self, requested: dict[str, Any], region: str, account: str) -> None:
        """Keep the request."""
        self.requested = {name: value for name, value in requested.items() if name != "Tags"}
        self.tags: list[dict[str, str]] = list(requested.get("Tags", ()))
        self.arn = f"arn:aws:sagemaker:{region}:{account}:{self.kind}/{self.name}"
        self.created = time.time()

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.requested[f"{_camel_case(self.kind)}Name"])

    def describe(self) -> dict[str, Any]:
        """Return the response of its Describe operation."""
        return known_members("sagemaker", self.output, self.requested | self._times())

    def summary(self) -> dict[str, Any]:
        """Return its entry in the List operation."""
        return known_members("sagemaker", f"{_camel_case(self.kind)}Summary", self.requested | self._times())

    def _times(self) -> dict[str, Any]:
        return {
            f"{_camel_case(self.kind)}Arn": self.arn,
            "CreationTime": self.created,
            "LastModifiedTime": self.created,
        }


class Model(_Record):
    """A model."""

    kind, output = "model", "DescribeModelOutput"


class EndpointConfig(_Record):
    """An endpoint configuration, which cannot be changed."""

    kind, output = "endpoint-config", "DescribeEndpointConfigOutput"

    @property
    def production_variants(self) -> list[dict[str, Any]]:
        """The production variants."""
        return self.requested["ProductionVariants"]


class Endpoint(_Record):
    """An endpoint, InService as soon as it is created. moto's own operations use the other attributes."""

    kind, output = "endpoint", "DescribeEndpointOutput"

    def __init__(self, requested: dict[str, Any], region: str, account: str) -> None:
        """Create an endpoint without instances."""
        super().__init__(requested, region, account)
        self.endpoint_status = "InService"
        self.production_variants: list[dict[str, Any]] = []
        self.interfaces: list[str] = []
        """Ids of its network interfaces, if it is in a VPC."""
        self._capture: dict[str, Any] | None = None
        self._deployment: dict[str, Any] | None = None

    @property
    def endpoint_config_name(self) -> str:
        """The name of its endpoint configuration."""
        return str(self.requested["EndpointConfigName"])

    def counts(self) -> dict[str, int]:
        """Return the current number of instances by variant."""
        return {one["VariantName"]: one["CurrentInstanceCount"] for one in self.production_variants}

    def deploy_with(self, requested: dict[str, Any]) -> None:
        """Set the deployment configuration of an update; the old one is kept only if the update requests that."""
        if "DeploymentConfig" in requested or not requested.get("RetainDeploymentConfig"):
            self._deployment = requested.get("DeploymentConfig")

    def run(self, config: EndpointConfig, images: dict[str, str], counts: dict[str, int] | None = None) -> None:
        """Run the variants of `config`; `counts`: instances of variants that keep their number."""
        self.requested["EndpointConfigName"] = config.name
        capture = config.requested.get("DataCaptureConfig")
        self._capture = capture and _capture_summary(capture)
        self._deployment = self._deployment or self.requested.get("DeploymentConfig")
        self.production_variants = [
            _variant(one, images[one["ModelName"]], (counts or {}).get(one["VariantName"]))
            for one in config.production_variants
        ]

    def describe(self) -> dict[str, Any]:
        """Return the response of its Describe operation."""
        return known_members("sagemaker", self.output, self._described())

    def summary(self) -> dict[str, Any]:
        """Return its entry in the List operation."""
        return known_members("sagemaker", "EndpointSummary", self._described())

    def _described(self) -> dict[str, Any]:
        return self.requested | self._times() | {
            "EndpointStatus": self.endpoint_status,
            "ProductionVariants": self.production_variants,
            "DataCaptureConfig": self._capture,
            "LastDeploymentConfig": self._deployment,
        }  # fmt: skip


def _variant(requested: dict[str, Any], image: str, count: int | None) -> dict[str, Any]:
    weight, instances = requested.get("InitialVariantWeight", 1.0), count or requested.get("InitialInstanceCount", 1)
    return {
        "VariantName": requested["VariantName"],
        "DeployedImages": [{"SpecifiedImage": image, "ResolvedImage": image}],
        "CurrentWeight": weight,
        "DesiredWeight": weight,
        "CurrentInstanceCount": instances,
        "DesiredInstanceCount": instances,
    }


def _capture_summary(capture: dict[str, Any]) -> dict[str, Any]:
    return {
        "EnableCapture": capture.get("EnableCapture", False),
        "CaptureStatus": "Started" if capture.get("EnableCapture") else "Stopped",
        "CurrentSamplingPercentage": capture["InitialSamplingPercentage"],
        "DestinationS3Uri": capture["DestinationS3Uri"],
        "KmsKeyId": capture.get("KmsKeyId", ""),
    }


def _camel_case(kind: str) -> str:
    return "".join(part.capitalize() for part in kind.split("-"))
