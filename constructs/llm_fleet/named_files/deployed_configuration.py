"""A cluster's configuration as it is deployed, from the template of its stack."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import yaml

from llm_fleet.named_files.named_file import read_regular_file
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import HASH_SUFFIX_LENGTH
from llm_fleet.rules.parallelcluster.update_changes import section_at
from llm_fleet.rules.parallelcluster.update_check import digests_of, with_digests
from llm_fleet.rules.problem import FleetError, Problem

_WITHOUT_PREFIX = ("Ref", "Condition")


def parse(text: str) -> Any:
    """Return the content of JSON or YAML `text`, with `!GetAtt A.B` as `{"Fn::GetAtt": ["A", "B"]}`.

    Dates stay text, as CloudFormation has them. Raises `ValueError` with a reason in one line.
    """
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass  # YAML's flow style begins like that, too.
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, with the short forms added
    except (yaml.YAMLError, RecursionError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{problem} in line {mark.line + 1}" if mark else str(problem)) from None


class _Loader(yaml.SafeLoader):
    """YAML with only plain values and CloudFormation's tags."""


def _function(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value = _value(loader, node)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in _WITHOUT_PREFIX else f"Fn::{suffix}": value}


def _value(loader: _Loader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return loader.construct_scalar(node)  # pyright: ignore[reportArgumentType]


def _text(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_scalar(node)  # pyright: ignore[reportArgumentType]


_Loader.add_multi_constructor("!", _function)  # pyright: ignore[reportUnknownMemberType] - the stubs are vague
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)


_TYPE = "Custom::PclusterCluster"
_VERSION = re.compile(r"/parallelcluster/(\d+\.\d+\.\d+)/")
Document = Mapping[str, Any]


def template_of(document: Any) -> Document | None:
    """Return the template in `document`: itself, or the template in a response of `aws cloudformation get-template`."""
    if not isinstance(document, Mapping):
        return None
    found = cast("Document", document)
    body = found.get("TemplateBody", found)
    if isinstance(body, str):
        body = parse(body)
    is_template = isinstance(body, Mapping) and isinstance(cast("Document", body).get("Resources"), Mapping)
    return cast("Document", body) if is_template else None


def clusters_of(template: Document, source: str) -> "list[DeployedConfiguration]":
    """Return the clusters of ParallelCluster that AWS's provider makes for the template, which is of `source`."""
    resources = cast("Document", template["Resources"])
    return [
        _cluster(logical_id, _properties(resource), resources, source)
        for logical_id, resource in resources.items()
        if resource.get("Type") == _TYPE and section_at(_properties(resource), "ClusterConfiguration")
    ]


def _cluster(logical_id: str, properties: Document, resources: Document, source: str) -> "DeployedConfiguration":
    name = properties.get("ClusterName")
    return DeployedConfiguration(
        logical_id=logical_id,
        cluster_name=name if isinstance(name, str) else None,
        version=_version(properties, resources),
        configuration=properties["ClusterConfiguration"],
        script_digests=digests_of(resources),
        source=source,
    )


def _version(properties: Document, resources: Document) -> str | None:
    """The version in the address of the provider's own template."""
    token = properties.get("ServiceToken")
    provider = cast("Document", token).get("Fn::GetAtt", [""])[0] if isinstance(token, Mapping) else ""
    found = _VERSION.search(json.dumps(_properties(resources.get(str(provider), {})).get("TemplateURL", "")))
    return found[1] if found else None


def _properties(resource: Any) -> Document:
    return section_at(cast("Document", resource), "Properties") if isinstance(resource, Mapping) else {}


_SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes; eight times CloudFormation's limit for a template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedConfiguration:
    """A cluster as it was deployed last, to compare the next deployment with."""

    configuration: Mapping[str, Any]
    """ParallelCluster's configuration, with intrinsic functions as in the template."""
    cluster_name: str | None = None
    """ParallelCluster's name of the cluster; `None` if the file does not contain it; a configuration does not."""
    version: str | None = None
    """Version of ParallelCluster, e.g. `3.16.1`; `None` if the file does not contain it."""
    script_digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of custom resources of the template by logical id, to distinguish published scripts."""
    source: str = ""
    """Its source, for messages."""
    logical_id: str = ""
    """Its logical id in the template; empty if the file is not a template."""

    def is_called(self, name: str) -> bool:
        """Return whether `name` identifies it: its name, with or without the hash, or its logical id."""
        own = self.cluster_name or ""
        return name in (own, own[:-HASH_SUFFIX_LENGTH], self.logical_id)

    @classmethod
    def from_file(cls, path: str | Path, *, cluster: str | None = None) -> "DeployedConfiguration":
        """Read the file at `path`: a stack's template, or ParallelCluster's own YAML.

        A template is what `llm-fleet parallelcluster deployed-configuration` or `aws cloudformation get-template`
        wrote, or one of an old `cdk.out`; JSON or YAML. `cluster` selects one of several clusters in it: by its name,
        with or without the hash, or by its logical id. Raises `FleetError` (LF680 to LF682).
        """
        found = cls._candidates(path, cluster)
        if len(found) == 1:
            return found[0]
        raise _error(
            Code.PC_DEPLOYED_CLUSTER,
            f"the template has {len(found) or 'no'} such clusters of ParallelCluster"
            if cluster
            else f"the template has {len(found) or 'no'} clusters of ParallelCluster",
            "name one by its name or logical id" if found else "give the template of the stack that the cluster is in",
            subject=str(path),
            value=cluster,
            allowed=", ".join(str(one.cluster_name) for one in cls._candidates(path, None)),
        )

    @classmethod
    def if_deployed(cls, path: str | Path, *, cluster: str | None = None) -> "DeployedConfiguration | None":
        """Read as `from_file` does; return `None` where the template has no such cluster: it is not deployed yet."""
        return cls.from_file(path, cluster=cluster) if cls._candidates(path, cluster) else None

    @classmethod
    def _candidates(cls, path: str | Path, cluster: str | None) -> "list[DeployedConfiguration]":
        document, template = _read(Path(path))
        if template is None:
            if not isinstance(document, dict) or "HeadNode" not in document:
                raise _error(
                    Code.PC_DEPLOYED_SHAPE,
                    "this is neither a template with `Resources` nor a configuration with a `HeadNode`",
                    "use a file of `llm-fleet parallelcluster deployed-configuration`, a template of cdk.out, or a "
                    "ParallelCluster configuration",
                    subject=str(path),
                )
            return [cls(configuration=document, source=str(path))]  # pyright: ignore[reportUnknownArgumentType]
        return [one for one in clusters_of(template, str(path)) if cluster is None or one.is_called(cluster)]


def comparable(
    old: DeployedConfiguration, new: DeployedConfiguration
) -> tuple[DeployedConfiguration, DeployedConfiguration]:
    """Return both with published scripts distinguished by their digests, if both come from templates."""
    if not (old.script_digests and new.script_digests):
        return old, new
    return (
        replace(old, configuration=with_digests(old.configuration, old.script_digests)),
        replace(new, configuration=with_digests(new.configuration, new.script_digests)),
    )


def _read(path: Path) -> tuple[Any, Mapping[str, Any] | None]:
    """Return the content of the file, and its template if it is one."""
    try:
        document = parse(read_regular_file(path, most=_SIZE_LIMIT, encoding="utf-8-sig"))
        return document, template_of(document)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(
            Code.PC_DEPLOYED_UNREADABLE,
            f"the configuration deployed last cannot be read: {reason}",
            "give the path of a template or configuration; for a first deployment, remove `deployed`",
            subject=str(path),
        ) from None


def _error(
    code: Code, message: str, remedy: str, *, subject: str, value: str | None = None, allowed: str = ""
) -> FleetError:
    problem = Problem(code=code, message=message, remedy=remedy, path=("deployed",), value=value, allowed=allowed)
    return FleetError([problem], subject=subject)
