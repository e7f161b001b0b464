"""Notebook instances, lifecycle configurations and code repositories keep every field and follow the service's rules.

moto supports 38 instance types of 189, drops platform, metadata service and address type, checks neither role, network
nor script, and lacks updates and code repositories. No instance boots here, and no script runs.

Source: model botocore sagemaker CreateNotebookInstance
Source: model botocore sagemaker UpdateNotebookInstance
Source: model botocore sagemaker DescribeNotebookInstance (NetworkInterfaceId: made with the instance)
"""

import time
from collections.abc import Callable
from typing import Any

from moto.sagemaker.models import SageMakerModelBackend
from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members
from llm_fleet_local.aws.resources.moto_fixes.kept_members import once
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf
from llm_fleet_local.aws.resources.moto_fixes.notebook_rules import instance_problems, script_problems
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_endpoints import leave

_INVALID = "ValidationException"
_KEPT = "_llm_fleet_notebook_parts"
_DISASSOCIATED = {
    "DisassociateLifecycleConfig": "LifecycleConfigName",
    "DisassociateDefaultCodeRepository": "DefaultCodeRepository",
    "DisassociateAdditionalCodeRepositories": "AdditionalCodeRepositories",
    "DisassociateAcceleratorTypes": "AcceleratorTypes",
}
Handler = Callable[[Any, dict[str, Any]], dict[str, Any]]


class Record:
    """A resource of the three types. moto's own operations use `arn` and `tags`."""

    def __init__(self, requested: dict[str, Any], arn: str) -> None:
        """Keep the request."""
        self.requested = {name: value for name, value in requested.items() if name != "Tags"}
        self.tags: list[dict[str, str]] = list(requested.get("Tags", ()))
        self.arn = arn
        self.created = self.changed = time.time()
        self.status = "InService"
        self.interfaces: list[str] = []
        """Network interfaces of a notebook instance in a subnet."""

    def times(self) -> dict[str, Any]:
        """Return when it was created and last changed."""
        return {"CreationTime": self.created, "LastModifiedTime": self.changed}


def install() -> None:
    """Replace moto's operations, and support tags of the two types that moto lacks."""
    handlers: dict[str, Handler] = {
        "CreateNotebookInstance": _create,
        "DescribeNotebookInstance": _describe,
        "UpdateNotebookInstance": _update,
        "StartNotebookInstance": lambda response, requested: _move(
            response, requested, {"Stopped", "Failed"}, "InService"
        ),
        "StopNotebookInstance": lambda response, requested: _move(response, requested, {"InService"}, "Stopped"),
        "DeleteNotebookInstance": _delete,
        "ListNotebookInstances": lambda response, _: {"NotebookInstances": [_described(one) for one in _all(response)]},
        "CreateNotebookInstanceLifecycleConfig": _create_config,
        "DescribeNotebookInstanceLifecycleConfig": _describe_config,
        "UpdateNotebookInstanceLifecycleConfig": _update_config,
        "DeleteNotebookInstanceLifecycleConfig": _delete_config,
        "CreateCodeRepository": _create_repository,
        "DescribeCodeRepository": _describe_repository,
        "UpdateCodeRepository": _update_repository,
        "DeleteCodeRepository": _delete_repository,
    }
    for operation, handler in handlers.items():
        install_operation(SageMakerResponse, "sagemaker", operation, handler, invalid=_INVALID)
    if once(SageMakerModelBackend, "notebook_tags"):
        backend: Any = SageMakerModelBackend
        backend._get_resource_from_arn = _with_parts(backend._get_resource_from_arn)


def _with_parts(as_moto_does: Any) -> Any:
    def find(self: Any, arn: str) -> Any:
        return getattr(self, _KEPT, {}).get(arn) or as_moto_does(self, arn)

    return find


def _instances(response: Any) -> dict[str, Record]:
    return response.sagemaker_backend.notebook_instances


def _all(response: Any) -> list[Record]:
    return list(_instances(response).values())


def _parts(response: Any) -> dict[str, Record]:
    """Return lifecycle configurations and code repositories, by ARN."""
    return response.sagemaker_backend.__dict__.setdefault(_KEPT, {})


def _arn(response: Any, kind: str, name: str) -> str:
    return f"arn:aws:sagemaker:{response.region}:{response.current_account}:{kind}/{name}"


def _reject(problems: list[str]) -> None:
    """Reject the request for these errors; the caller, or notebook_rules.py, names the source of each.

    Source: assumption service-error-texts
    """
    if problems:
        raise Rejected(_INVALID, "; ".join(problems))


def _instance(response: Any, requested: dict[str, Any]) -> Record:
    found = _instances(response).get(requested["NotebookInstanceName"])
    if found is None:
        # Source: assumption service-error-texts
        raise Rejected(_INVALID, "RecordNotFound")
    return found


def _part(response: Any, kind: str, name: str) -> Record:
    arn = _arn(response, kind, name)
    found = _parts(response).get(arn)
    if found is None:
        # Source: assumption service-error-texts
        raise Rejected(_INVALID, f"Could not find {arn}")
    return found


def _create(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    name = requested["NotebookInstanceName"]
    arn = _arn(response, "notebook-instance", name)
    _reject([f"Cannot create a duplicate Notebook Instance ({arn})"] if name in _instances(response) else [])
    _check(response, requested)
    made = _instances(response)[name] = Record(requested, arn)
    if subnet := requested.get("SubnetId"):
        network = NetworkOf(response.current_account, response.region)
        made.interfaces.append(network.attach(subnet, requested["SecurityGroupIds"], f"SageMaker notebook {name}"))
    return {"NotebookInstanceArn": arn}


def _check(response: Any, requested: dict[str, Any]) -> None:
    _reject(instance_problems(requested, response.current_account, response.region))
    if config := requested.get("LifecycleConfigName"):
        _part(response, "notebook-instance-lifecycle-config", config)
    for named in (requested.get("DefaultCodeRepository"), *requested.get("AdditionalCodeRepositories", ())):
        if named and not named.startswith("https://"):
            _part(response, "code-repository", named)


def _described(found: Record) -> dict[str, Any]:
    return known_members("sagemaker", "NotebookInstanceSummary", _members(found))


def _describe(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    return known_members("sagemaker", "DescribeNotebookInstanceOutput", _members(_instance(response, requested)))


def _members(found: Record) -> dict[str, Any]:
    requested = found.requested
    return {
        **{"DirectInternetAccess": "Enabled", "RootAccess": "Enabled", "VolumeSizeInGB": 5},
        **requested,
        **found.times(),
        "NotebookInstanceArn": found.arn,
        "NotebookInstanceStatus": found.status,
        "Url": f"{requested['NotebookInstanceName']}.notebook.{found.arn.split(':')[3]}.sagemaker.aws",
        "SecurityGroups": requested.get("SecurityGroupIds"),
        "NetworkInterfaceId": next(iter(found.interfaces), None),
        "NotebookInstanceLifecycleConfigName": requested.get("LifecycleConfigName"),
    }


def _update(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _instance(response, requested)
    _reject([] if found.status in {"Stopped", "Failed"} else [_cannot(found, "Updating", "Stopped, Failed")])
    dropped = {name for flag, name in _DISASSOCIATED.items() if requested.get(flag)}
    given = {name: value for name, value in requested.items() if name not in _DISASSOCIATED}
    both = sorted(dropped & set(given))
    _reject([f"{name} is both set and removed" for name in both])
    smaller = requested.get("VolumeSizeInGB", 16384) < found.requested.get("VolumeSizeInGB", 5)
    _reject(["the volume of a notebook instance cannot become smaller"] if smaller else [])
    after = {name: value for name, value in (found.requested | given).items() if name not in dropped}
    _check(response, after)
    found.requested, found.changed = after, time.time()
    return {}


def _move(response: Any, requested: dict[str, Any], begin: set[str], end: str) -> dict[str, Any]:
    found = _instance(response, requested)
    moving = "Stopping" if end == "Stopped" else "Pending"
    _reject([] if found.status in begin else [_cannot(found, moving, ", ".join(sorted(begin)))])
    found.status, found.changed = end, time.time()
    return {}


def _cannot(found: Record, into: str, allowed: str) -> str:
    """Return the error text of a rejected status change.

    Source: recorded aws/amazon-sagemaker-examples#1094, text of the error (2020-03-18)
    """
    return (
        f"Status ({found.status}) not in ([{allowed}]). Unable to transition to ({into}) for Notebook Instance "
        f"({found.arn})"
    )


def _delete(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _instance(response, requested)
    _reject([] if found.status in {"Stopped", "Failed"} else [_cannot(found, "Deleting", "Stopped, Failed")])
    leave(response, found.interfaces)
    del _instances(response)[requested["NotebookInstanceName"]]
    return {}


def _create_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    _reject(script_problems(requested))
    arn = _arn(response, "notebook-instance-lifecycle-config", requested["NotebookInstanceLifecycleConfigName"])
    _reject([f"{arn} already exists"] if arn in _parts(response) else [])
    _parts(response)[arn] = Record(requested, arn)
    return {"NotebookInstanceLifecycleConfigArn": arn}


def _config(response: Any, requested: dict[str, Any]) -> Record:
    return _part(response, "notebook-instance-lifecycle-config", requested["NotebookInstanceLifecycleConfigName"])


def _describe_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _config(response, requested)
    described = found.requested | found.times() | {"NotebookInstanceLifecycleConfigArn": found.arn}
    return known_members("sagemaker", "DescribeNotebookInstanceLifecycleConfigOutput", described)


def _update_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _config(response, requested)
    _reject(script_problems(requested))
    found.requested |= {
        name: value for name, value in requested.items() if name != "NotebookInstanceLifecycleConfigName"
    }
    found.changed = time.time()
    return {}


def _delete_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _config(response, requested)
    name = requested["NotebookInstanceLifecycleConfigName"]
    users = [
        one.requested["NotebookInstanceName"]
        for one in _all(response)
        if one.requested.get("LifecycleConfigName") == name
    ]
    _reject([f"{found.arn} is used by {', '.join(users)}"] if users else [])
    del _parts(response)[found.arn]
    return {}


def _create_repository(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    arn = _arn(response, "code-repository", requested["CodeRepositoryName"])
    _reject([f"Cannot create already existing code repository {arn}"] if arn in _parts(response) else [])
    _parts(response)[arn] = Record(requested, arn)
    return {"CodeRepositoryArn": arn}


def _describe_repository(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _part(response, "code-repository", requested["CodeRepositoryName"])
    return known_members(
        "sagemaker", "DescribeCodeRepositoryOutput", found.requested | found.times() | {"CodeRepositoryArn": found.arn}
    )


def _update_repository(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _part(response, "code-repository", requested["CodeRepositoryName"])
    found.requested["GitConfig"] = found.requested["GitConfig"] | requested.get("GitConfig", {})
    found.changed = time.time()
    return {"CodeRepositoryArn": found.arn}


def _delete_repository(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _part(response, "code-repository", requested["CodeRepositoryName"])
    del _parts(response)[found.arn]
    return {}
