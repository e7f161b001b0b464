"""The configuration of ParallelCluster that was deployed last, read from what is at hand of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from llm_fleet.named_files.cloudformation_yaml import parse
from llm_fleet.named_files.cluster_template import clusters_of, template_of
from llm_fleet.named_files.regular_file import read_regular_file
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem

_SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes; CloudFormation takes a template of one eighth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedConfiguration:
    """A cluster as it was deployed last, to compare the next deployment with."""

    configuration: Mapping[str, Any]
    """ParallelCluster's configuration, intrinsic functions as they are in the template."""
    cluster_name: str | None = None
    """ParallelCluster's name of the cluster; `None` where the file does not tell, as a configuration does not."""
    version: str | None = None
    """Version of ParallelCluster, e.g. `3.16.1`; `None` where the file does not tell."""
    script_digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of each custom resource of the template, by logical id, to tell published scripts apart."""
    source: str = ""
    """Where it comes from, for messages."""

    @classmethod
    def from_file(cls, path: str | Path, *, cluster: str | None = None) -> Self:
        """Read the file at `path`: a stack's template, or ParallelCluster's own YAML.

        A template is what `llm-fleet deployed-configuration` or `aws cloudformation get-template` wrote, or one of
        an old `cdk.out`; JSON or YAML. `cluster` tells which of several clusters in it is meant: by its name, with or
        without the hash, or by its logical id. Raises `FleetError` (LF680 to LF682).
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
    def if_deployed(cls, path: str | Path, *, cluster: str | None = None) -> Self | None:
        """Read as `from_file` does; return `None` where the template has no such cluster: it is not deployed yet."""
        return cls.from_file(path, cluster=cluster) if cls._candidates(path, cluster) else None

    @classmethod
    def _candidates(cls, path: str | Path, cluster: str | None) -> list[Self]:
        document, template = _read(Path(path))
        if template is None:
            if not isinstance(document, dict) or "HeadNode" not in document:
                raise _error(
                    Code.PC_DEPLOYED_SHAPE,
                    "this is neither a template with `Resources` nor a configuration with a `HeadNode`",
                    "give what `llm-fleet deployed-configuration` wrote, a template of cdk.out, or a configuration",
                    subject=str(path),
                )
            return [cls(configuration=document, source=str(path))]  # pyright: ignore[reportUnknownArgumentType]
        return [
            cls(
                configuration=one.configuration,
                cluster_name=one.cluster_name,
                version=one.version,
                script_digests=one.script_digests,
                source=str(path),
            )
            for one in clusters_of(template)
            if cluster is None or one.is_called(cluster)
        ]


def _read(path: Path) -> tuple[Any, Mapping[str, Any] | None]:
    """Return what the file holds, and the template in it where it is one."""
    try:
        document = parse(read_regular_file(path, most=_SIZE_LIMIT, encoding="utf-8-sig"))
        return document, template_of(document)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(
            Code.PC_DEPLOYED_UNREADABLE,
            f"the configuration deployed last cannot be read: {reason}",
            "give the path of a template or configuration; for a first deployment, leave it out",
            subject=str(path),
        ) from None


def _error(
    code: Code, message: str, remedy: str, *, subject: str, value: str | None = None, allowed: str = ""
) -> FleetError:
    problem = Problem(code=code, message=message, remedy=remedy, path=("deployed",), value=value, allowed=allowed)
    return FleetError([problem], subject=subject)
