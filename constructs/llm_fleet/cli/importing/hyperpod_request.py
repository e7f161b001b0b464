"""Converts a request for HyperPod's CreateCluster to a fleet file."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.importing.hyperpod_group import (
    group_volumes,
    infer_roles,
    lifecycle,
    storage,
    translate_group,
    unmounted,
)
from llm_fleet.cli.importing.translation import Notes, Requested, Translation, ask_for_zones, report_region
from llm_fleet.fleet_file.check_fleet import fleet_name_of
from llm_fleet.fleet_file.document import locate, read_text
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, PathPart, Problem
from llm_fleet.rules.values import nearest

_GROUPS = "InstanceGroups"
_GROUP = "instancegroupname"
_TEMPLATE = re.compile(r"^(AWSTemplateFormatVersion|Resources)[ \t]*:", re.M)
_PROVISIONING = {"controller_group", "worker_groups", "login_group", "workload_manager"}
"""Keys of provisioning_parameters.json, which the lifecycle scripts of AWS's samples read."""


def read_request(path: Path) -> dict[str, Any]:
    """Return the request in the file at `path`, completed to a whole request.

    Raises `FleetError` (LF101 to LF103, LF150, LF151) if the file has none.
    """
    subject = str(path)
    text = read_text(path, noun="request")
    if _TEMPLATE.search(text):
        raise _of_another_kind(*_CLOUDFORMATION, subject)
    document = _parse(text, subject)
    if isinstance(document, list):
        return {_GROUPS: cast(list[Any], document)}
    if not isinstance(document, dict):
        raise _shape_error("a request must be a JSON object, or a list of instance groups", subject)
    request = cast(dict[str, Any], document)
    if "AWSTemplateFormatVersion" in request or "Resources" in request:
        raise _of_another_kind(*_CLOUDFORMATION, subject)
    if request.keys() & _PROVISIONING:
        raise _of_another_kind(*_PARAMETERS, subject)
    is_group = any(key.casefold().replace("_", "").replace("-", "") == _GROUP for key in request)
    return {_GROUPS: [request]} if is_group else request


_CLOUDFORMATION = (
    "this is a CloudFormation template, not a request",
    "import the properties of its AWS::SageMaker::Cluster as JSON, with values instead of references",
)
_PARAMETERS = (
    "this is provisioning_parameters.json, which has no instance types",
    "import the request of `aws sagemaker create-cluster`; the fleet's scripts do not need this file",
)


def _parse(text: str, subject: str) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=_each_key_once)
        json.dumps(found, ensure_ascii=False).encode()
        return found
    except json.JSONDecodeError as error:
        lines = text.splitlines()
        problem = Problem(
            code=Code.REQUEST_NOT_JSON,
            message=f"not valid JSON: {error.msg.lower()}, in line {error.lineno}, column {error.colno}",
            remedy="import the JSON of `aws sagemaker create-cluster --cli-input-json`",
            value=lines[error.lineno - 1] if error.lineno <= len(lines) and lines[error.lineno - 1] else None,
        )
        raise FleetError([locate(problem, error.lineno, error.colno)], subject=subject) from None
    except UnicodeEncodeError:  # `\ud800`: JSON can contain a lone surrogate, which is not valid Unicode.
        raise _shape_error("the request contains a lone Unicode surrogate", subject) from None
    except ValueError:  # Python converts at most 4300 digits to a number.
        raise _shape_error("the request contains a number with too many digits", subject) from None
    except _KeyTwice as twice:
        raise _shape_error(f"duplicate key `{twice.key}`", subject) from None
    except RecursionError:
        raise _shape_error("the request is nested too deeply", subject) from None


class _KeyTwice(Exception):
    """A JSON object has a duplicate key, which most parsers ignore silently."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _KeyTwice(key)
        found[key] = value
    return found


def _shape_error(message: str, subject: str) -> FleetError:
    remedy = "import the JSON of `aws sagemaker create-cluster`, or its InstanceGroups"
    return _of_another_kind(message, remedy, subject)


def _of_another_kind(message: str, remedy: str, subject: str) -> FleetError:
    return FleetError([Problem(code=Code.REQUEST_SHAPE, message=message, remedy=remedy)], subject=subject)


def report_network(
    request: Mapping[str, Any], zones: Sequence[str], vpc: str | None, notes: Notes, problems: list[Problem]
) -> str | dict[str, Any]:
    """Return the network: the request's as an existing one, else a new one in `zones`, else none."""
    config = request.get("VpcConfig")
    if config is not None:
        return _existing(config, zones, vpc, notes, problems)
    if zones:
        notes.chosen(f"a VPC is created, with a compute subnet in {', '.join(zones)}: the request has no VpcConfig")
        return {"az": zones[0]} if len(zones) == 1 else {"azs": list(zones)}
    notes.chosen(
        "no network, because the request has no VpcConfig; add `--az ID` for a new VPC, which a file system requires"
    )
    return "none"


def _existing(
    config: Mapping[str, Any], zones: Sequence[str], vpc: str | None, notes: Notes, problems: list[Problem]
) -> dict[str, Any]:
    subnets, groups = config.get("Subnets", []), config.get("SecurityGroupIds", [])
    if vpc is None or len(zones) != len(subnets):
        problems.append(ask_for_zones(subnets, "VpcConfig", ("VpcConfig",)))
        return {}
    for more in groups[1:]:
        notes.left_out(f"security group {more}: a network has one; give it to the groups that need it")
    reported: dict[str, Any] = {"id": vpc, "subnets": dict(zip(zones, subnets, strict=True))}
    notes.chosen(f"VpcConfig is used unchanged, under network.vpc, in {vpc}")
    return {"vpc": reported | ({"security_group": groups[0]} if groups else {})}


_NOT_CARRIED = {
    "RestrictedInstanceGroups": "restricted groups are for Nova models on EKS",
    "RestrictedInstanceGroupsConfig": "restricted groups are for Nova models on EKS",
    "TieredStorageConfig": "tiered storage is for EKS",
    "AutoScaling": "Karpenter is for EKS",
    "ClusterRole": "it is for autoscaling on EKS",
}
_ACCOUNT = re.compile(r"arn:[a-z-]+:iam::(\d{12}):role/")


def translate(request: Mapping[str, Any], requested: Requested, notes: Notes) -> Translation:
    """Return the fleet file's values for a request in the API's form."""
    result = Translation()
    groups = _groups(request, result.problems)
    if "Eks" in request.get("Orchestrator", {}):
        result.problems.append(_eks(request["Orchestrator"]["Eks"]))
    if result.problems:
        return result
    cluster_name = requested.cluster_name(str(request.get("ClusterName", "")), notes)
    region = report_region(request, requested.region, requested.zones, notes, result.problems)
    network = report_network(request, requested.zones, requested.vpc, notes, result.problems)
    roles = infer_roles(groups, notes, result.problems)
    if result.problems:
        return result
    shared = storage(groups, notes)
    cluster, by_group = _cluster(request, groups, notes)
    account = _account(groups)
    cluster["groups"] = {
        str(group["InstanceGroupName"]): {
            **translate_group(group, roles[str(group["InstanceGroupName"])], notes),
            **by_group.get(str(group["InstanceGroupName"]), {}),
            **group_volumes(group, account, region, notes),
            **unmounted(group, shared),
        }
        for group in groups
    }
    result.fleet = {
        "fleet": fleet_name_of(cluster_name) or "fleet",
        "region": region,
        "network": network,
        **({"storage": shared} if shared else {}),
        "clusters": {cluster_name: cluster},
    }
    return result


def _groups(request: Mapping[str, Any], problems: list[Problem]) -> list[Mapping[str, Any]]:
    groups: list[Mapping[str, Any]] = request.get("InstanceGroups", [])
    if not groups:
        problems.append(_no_groups("the request has no InstanceGroups", ("InstanceGroups",)))
    names: list[str] = []
    for index, group in enumerate(groups):
        name = group.get("InstanceGroupName")
        if name is None:
            problems.append(_no_groups("InstanceGroupName is required", ("InstanceGroups", index)))
        elif name in names:
            problems.append(_no_groups(f"duplicate InstanceGroupName {name}", ("InstanceGroups", index)))
        else:
            names.append(str(name))
    return groups


def _no_groups(message: str, path: tuple[str | int, ...]) -> Problem:
    remedy = "set a unique InstanceGroupName for each instance group"
    return Problem(code=Code.REQUEST_SHAPE, message=message, remedy=remedy, path=path)


def _cluster(
    request: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], notes: Notes
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the keys of the cluster, and the keys of each group that are settings of the cluster in the request."""
    reported: dict[str, Any] = {"kind": "hyperpod"}
    slurm = request.get("Orchestrator", {}).get("Slurm", {})
    if "NodeProvisioningMode" not in request:
        if "SlurmConfigStrategy" in slurm:
            reported |= {"provisioning": "none", "slurm_config": slurm["SlurmConfigStrategy"]}
        else:
            notes.chosen("Continuous provisioning, the fleet's default: the request has no NodeProvisioningMode")
    elif "SlurmConfigStrategy" in slurm:
        reported["slurm_config"] = slurm["SlurmConfigStrategy"]
    if request.get("NodeRecovery", "Automatic") != "Automatic":
        reported["node_recovery"] = request["NodeRecovery"]
    if "AccountingDatabase" in slurm:
        reported["accounting"] = _accounting(slurm["AccountingDatabase"])
    if "Tags" in request:
        reported["tags"] = {str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in request["Tags"]}
    scripts = lifecycle(groups, notes)
    for role in dict.fromkeys(str(group["ExecutionRole"]) for group in groups if "ExecutionRole" in group):
        notes.left_out(
            f"ExecutionRole {role}: the fleet creates a role with the permissions of its features only; "
            "to keep yours, set `execution_role` of the cluster or of a group"
        )
    for member, reason in _NOT_CARRIED.items():
        if member in request:
            notes.left_out(f"{member}: {reason}")
    return reported | scripts.cluster, scripts.groups


def _accounting(database: Mapping[str, Any]) -> dict[str, Any]:
    keys = {"Endpoint": "endpoint", "SecretArn": "secret", "Port": "port", "Name": "database"}
    return {key: database[member] for member, key in keys.items() if member in database}


def _account(groups: Sequence[Mapping[str, Any]]) -> str | None:
    roles = " ".join(str(group.get("ExecutionRole", "")) for group in groups)
    match = _ACCOUNT.search(roles)
    return match[1] if match else None


def _eks(config: Any) -> Problem:
    return Problem(
        code=Code.REQUEST_NOT_SLURM,
        message="this is a HyperPod cluster with EKS; llm-fleet supports Slurm only",
        remedy="import the request of a Slurm cluster, or remove `Orchestrator.Eks` to use Slurm",
        path=("Orchestrator", "Eks"),
        value=config,
    )


_MEANS_SOMETHING_EMPTY = ("Spot", "OnDemand")
"""Empty objects whose presence has a meaning."""
_NOT_ZERO = ("ThreadsPerCore", "VolumeSizeInGB", "Port", "Value", "IdleWaitWindowInSeconds")
"""Numbers with a minimum of 1 or more in the API, so that the skeleton's 0 is no value."""
_NOUNS = {dict: "an object", list: "a list"}


@dataclass(slots=True)
class Mender:
    """Converts a request to the shape of the API."""

    notes: Notes
    problems: list[Problem] = field(default_factory=list[Problem])
    blanks: int = 0
    """Number of fields without a value, as in the CLI's skeleton."""

    def request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return `request` in the API's form; values that cannot be converted are in `problems`."""
        repaired = self._object(request, load("create_cluster_request"), ())
        if self.blanks:
            self.notes.left_out(f"{self.blanks} fields without a value, as in the CLI's skeleton")
        return repaired

    def _value(self, value: Any, shape: Any, path: tuple[PathPart, ...]) -> Any:
        if isinstance(shape, dict):
            return self._composite(value, dict, cast(dict[str, Any], shape), path)
        if isinstance(shape, list):
            return self._composite(value, list, cast(list[Any], shape), path)
        return self._scalar(value, str(shape), path)

    def _composite(self, value: Any, kind: type, shape: Any, path: tuple[PathPart, ...]) -> Any:
        if not isinstance(value, kind):
            self._wrong(value, _NOUNS[kind], path)
            return None
        if kind is dict:
            return self._object(value, shape, path)
        items = [self._value(item, shape[0], (*path, index)) for index, item in enumerate(value)]
        return [item for item in items if not _is_blank(item)]

    def _object(self, value: dict[str, Any], shape: dict[str, Any], path: tuple[PathPart, ...]) -> dict[str, Any]:
        repaired: dict[str, Any] = {}
        for key, member in value.items():
            name = self._name(key, shape, path)
            if name is None:
                continue
            if name in repaired:
                self.notes.not_understood(f"{_say((*path, key))}: {name} is set already")
                continue
            inner = self._value(member, shape.get(name, shape.get("*")), (*path, name))
            if (_is_blank(inner) and name not in _MEANS_SOMETHING_EMPTY) or (inner == 0 and name in _NOT_ZERO):
                self.blanks += _is_blank(member) or inner == 0
            else:
                repaired[name] = inner
        return repaired

    def _name(self, key: str, shape: dict[str, Any], path: tuple[PathPart, ...]) -> str | None:
        """Return the API's spelling of `key`; `None` if it is unknown."""
        if key in shape or "*" in shape:
            return key
        by_folded = {name.casefold(): name for name in shape}
        name = by_folded.get(key.casefold().replace("_", "").replace("-", ""))
        if name is not None:
            self.notes.repaired(f"{_say((*path, key))} is {name} in the API")
            return name
        offer = nearest(key, shape)
        hint = f"; did you mean {offer}?" if offer else ""
        self.notes.not_understood(f"{_say((*path, key))}: unknown key in the API{hint}")
        return None

    def _scalar(self, value: Any, kind: str, path: tuple[PathPart, ...]) -> Any:
        if kind == "integer":
            return self._integer(value, path)
        if kind == "boolean" and not isinstance(value, bool):
            self._wrong(value, "true or false", path)
            return None
        if kind == "string" and not isinstance(value, str):
            self._wrong(value, "text", path)
            return None
        return value

    def _integer(self, value: Any, path: tuple[PathPart, ...]) -> int | None:
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            self.notes.repaired(f"{_say(path)} is converted to the number {int(value)}")
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._wrong(value, "a whole number", path)
        return None

    def _wrong(self, value: Any, expected: str, path: tuple[PathPart, ...]) -> None:
        if _is_blank(value):
            return
        self.problems.append(
            Problem(
                code=Code.REQUEST_SHAPE,
                message=f"the value must be {expected}",
                remedy="write it as in `aws sagemaker create-cluster --generate-cli-skeleton`",
                path=path,
                value=value,
            )
        )


def _is_blank(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _say(path: tuple[PathPart, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
