"""Reads the request of `aws sagemaker create-cluster`: whole, its groups, one group, or a filled-in skeleton."""

import json
import re
from pathlib import Path
from typing import Any, cast

from llm_fleet.config.located import locate
from llm_fleet.config.read import read_text
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem

_GROUPS = "InstanceGroups"
_GROUP = "instancegroupname"
_TEMPLATE = re.compile(r"^(AWSTemplateFormatVersion|Resources)[ \t]*:", re.M)
_PROVISIONING = {"controller_group", "worker_groups", "login_group", "workload_manager"}
"""Keys of the file that the lifecycle scripts of AWS's samples read on each node."""


def read_request(path: Path) -> dict[str, Any]:
    """Return the request in the file at `path`, always as the whole one.

    Raises `FleetError` (LF101 to LF103, LF150, LF151) when there is none.
    """
    subject = str(path)
    text = read_text(path, noun="request")
    if _TEMPLATE.search(text):
        raise _of_another_kind(*_CLOUDFORMATION, subject)
    document = _parse(text, subject)
    if isinstance(document, list):
        return {_GROUPS: cast(list[Any], document)}
    if not isinstance(document, dict):
        raise _shape_error("a request is a JSON object, or a list of instance groups", subject)
    request = cast(dict[str, Any], document)
    if "AWSTemplateFormatVersion" in request or "Resources" in request:
        raise _of_another_kind(*_CLOUDFORMATION, subject)
    if request.keys() & _PROVISIONING:
        raise _of_another_kind(*_PARAMETERS, subject)
    is_group = any(key.casefold().replace("_", "").replace("-", "") == _GROUP for key in request)
    return {_GROUPS: [request]} if is_group else request


_CLOUDFORMATION = (
    "this is a CloudFormation template, not a request",
    "give the properties of its AWS::SageMaker::Cluster as JSON, with values in place of references",
)
_PARAMETERS = (
    "this is provisioning_parameters.json, which tells lifecycle scripts about groups and has no instance types",
    "give the request that you pass to `aws sagemaker create-cluster`; the fleet's scripts need no such file",
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
            message=f"this is no JSON: {error.msg.lower()}, in line {error.lineno}, column {error.colno}",
            remedy="give the JSON that you pass to `aws sagemaker create-cluster --cli-input-json`",
            value=lines[error.lineno - 1] if error.lineno <= len(lines) and lines[error.lineno - 1] else None,
        )
        raise FleetError([locate(problem, error.lineno, error.colno)], subject=subject) from None
    except UnicodeEncodeError:  # `\ud800`: JSON can say half a character, which nothing else can.
        raise _shape_error("the request holds half a character", subject) from None
    except ValueError:  # Python turns no text of more than 4300 digits into a number.
        raise _shape_error("the request holds a number longer than any of a request", subject) from None
    except _KeyTwice as twice:
        raise _shape_error(f"the key {twice.key!r} stands twice in one object", subject) from None
    except RecursionError:
        raise _shape_error("the request is nested deeper than any request is", subject) from None


class _KeyTwice(Exception):
    """A JSON object has one key twice, of which most readers would drop one in silence."""

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
    remedy = "give the JSON that you pass to `aws sagemaker create-cluster`, or its InstanceGroups"
    return _of_another_kind(message, remedy, subject)


def _of_another_kind(message: str, remedy: str, subject: str) -> FleetError:
    return FleetError([Problem(code=Code.REQUEST_SHAPE, message=message, remedy=remedy)], subject=subject)
