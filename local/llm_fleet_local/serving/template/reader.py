"""A template's resources with their functions evaluated; a reference to a resource becomes its logical id."""

import json
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet_local.aws.template.conditions import holds
from llm_fleet_local.aws.template.functions import evaluate
from llm_fleet_local.aws.template.values import as_text
from llm_fleet_local.serving.template.problem import NotServable

_PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-west-2",
    "AWS::StackId": "arn:aws:cloudformation:us-west-2:123456789012:stack/local/0",
    "AWS::StackName": "local",
    "AWS::URLSuffix": "amazonaws.com",
}


class TemplateReader:
    """One template. What only exists after a deployment (ARNs, addresses) reads as the resource's logical id."""

    def __init__(self, body: str) -> None:
        """Take the template as JSON text. Raises `NotServable` when it is none."""
        try:
            document: Any = json.loads(body)
        except ValueError as error:
            raise NotServable(f"this is no template in JSON: {error}") from error
        if not isinstance(document, Mapping) or "Resources" not in document:
            raise NotServable("this is no template: it has no Resources")
        self._document = cast("Mapping[str, Any]", document)
        self._resources = _resources(self._document["Resources"])

    def of_type(self, resource_type: str) -> dict[str, dict[str, Any]]:
        """Return the properties of every resource of a type that will exist, by logical id."""
        return {
            logical_id: evaluate(body.get("Properties", {}), self)
            for logical_id, body in self._resources.items()
            if body["Type"] == resource_type and self._exists(body)
        }

    def metadata(self, logical_id: str) -> Mapping[str, Any]:
        """Return a resource's metadata; the CDK writes its construct's path there."""
        return cast("Mapping[str, Any]", self._resources[logical_id].get("Metadata", {}))

    def ref(self, name: str) -> Any:
        """Return what `Ref` gives: a parameter's default, a pseudo parameter, or the logical id itself."""
        parameters = self._document.get("Parameters", {})
        if name in parameters:
            return parameters[name].get("Default", name)
        return _PSEUDO.get(name, name)

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return the logical id for an ARN, which is then a reference like any other; else both names."""
        return logical_id if name.lower().endswith("arn") else f"{logical_id}.{name}"

    def condition(self, name: str) -> bool:
        """Return whether a condition of the template holds."""
        return holds(self._document["Conditions"][name], self)

    def in_mapping(self, name: str, first: str, second: str) -> Any:
        """Return a value of the Mappings section."""
        return self._document["Mappings"][name][first][second]

    def imported(self, export_name: str) -> Any:
        """Return a name for what another stack exports: nothing here needs its value."""
        return f"import:{as_text(export_name)}"

    def stack_output(self, stack_name: str, output_name: str, region: str | None) -> Any:
        """Return a name for another stack's output."""
        return f"output:{stack_name}:{output_name}:{region or ''}"

    def availability_zones(self, region: str) -> list[str]:
        """Return zones; nothing here needs them."""
        return [f"{region or _PSEUDO['AWS::Region']}{letter}" for letter in "abc"]

    def _exists(self, body: Mapping[str, Any]) -> bool:
        return "Condition" not in body or self.condition(body["Condition"])


def _resources(written: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return what is written as resources. Raises `NotServable` when one is none, as CloudFormation refuses it."""
    if not isinstance(written, Mapping):
        raise NotServable("this is no template: its Resources are no object")
    found = cast("Mapping[str, Any]", written)
    for logical_id, body in found.items():
        kind = cast("Mapping[str, Any]", body).get("Type") if isinstance(body, Mapping) else None
        if not isinstance(kind, str):
            raise NotServable(f"resource {logical_id} has no Type")
    return found
