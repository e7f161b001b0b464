"""Finds the clusters of ParallelCluster in a template of CloudFormation."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.named_files.cloudformation_yaml import parse
from llm_fleet.rules.parallelcluster.identity import HASH_SUFFIX_LENGTH
from llm_fleet.rules.parallelcluster.update.script_digests import digests_of
from llm_fleet.rules.parallelcluster.update.values import section_at

_TYPE = "Custom::PclusterCluster"
_VERSION = re.compile(r"/parallelcluster/(\d+\.\d+\.\d+)/")
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInTemplate:
    """One cluster of a template."""

    logical_id: str
    cluster_name: str | None
    """`None` where CloudFormation works it out."""
    version: str | None
    configuration: Document
    script_digests: Mapping[str, str]

    def is_called(self, name: str) -> bool:
        """Return whether `name` means it: its name, with or without the hash, or its logical id."""
        own = self.cluster_name or ""
        return name in (own, own[:-HASH_SUFFIX_LENGTH], self.logical_id)


def template_of(document: Any) -> Document | None:
    """Return the template in `document`: itself, or what `aws cloudformation get-template` wraps around it."""
    if not isinstance(document, Mapping):
        return None
    found = cast("Document", document)
    body = found.get("TemplateBody", found)
    if isinstance(body, str):
        body = parse(body)
    is_template = isinstance(body, Mapping) and isinstance(cast("Document", body).get("Resources"), Mapping)
    return cast("Document", body) if is_template else None


def clusters_of(template: Document) -> list[ClusterInTemplate]:
    """Return the clusters of ParallelCluster that AWS's provider makes for the template."""
    resources = cast("Document", template["Resources"])
    return [
        _cluster(logical_id, _properties(resource), resources)
        for logical_id, resource in resources.items()
        if resource.get("Type") == _TYPE and section_at(_properties(resource), "ClusterConfiguration")
    ]


def _cluster(logical_id: str, properties: Document, resources: Document) -> ClusterInTemplate:
    name = properties.get("ClusterName")
    return ClusterInTemplate(
        logical_id=logical_id,
        cluster_name=name if isinstance(name, str) else None,
        version=_version(properties, resources),
        configuration=properties["ClusterConfiguration"],
        script_digests=digests_of(resources),
    )


def _version(properties: Document, resources: Document) -> str | None:
    """The version in the address of the provider's own template."""
    token = properties.get("ServiceToken")
    provider = cast("Document", token).get("Fn::GetAtt", [""])[0] if isinstance(token, Mapping) else ""
    found = _VERSION.search(json.dumps(_properties(resources.get(str(provider), {})).get("TemplateURL", "")))
    return found[1] if found else None


def _properties(resource: Any) -> Document:
    return section_at(cast("Document", resource), "Properties") if isinstance(resource, Mapping) else {}
