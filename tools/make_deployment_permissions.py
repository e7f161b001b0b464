"""Writes catalog/data/deployment_permissions.json: `python -m tools.make_deployment_permissions` (`--check` compares).

The IAM actions with which CloudFormation creates, reads, updates and deletes each resource type that llm-fleet uses:
`handlers.*.permissions` of CloudFormation's resource schemas, as cfn-lint ships them. Which of these actions support
resources is from cfn-lint's copy of the Service Authorization Reference.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

DATA = Path(__file__).parents[1] / "constructs/llm_fleet/catalog/data"
TARGET = DATA / "deployment_permissions.json"
WHAT = "IAM actions that CloudFormation needs for each resource type"
SOURCE = (
    "handlers.create, read, update and delete of CloudFormation's resource schemas of us-west-2, and the Service "
    "Authorization Reference, both as cfn-lint 1.58.0 ships them (schemas of 2026-10-20), by "
    "tools/make_deployment_permissions.py, which names the source of each type without handlers"
)
CHECKED = "2026-11-28"
REGION = "us-west-2"
_ELSEWHERE = (
    "AWS::Budgets::BudgetsAction",
    "AWS::Chatbot::MicrosoftTeamsChannelConfiguration",
    "AWS::KMS::Alias",
    "AWS::Lambda::LayerVersion",
    "AWS::RDS::DBParameterGroup",
)
"""Types of examples and of ParallelCluster's provider that are not in create_only.json."""
WITHOUT_HANDLERS: Mapping[str, tuple[str, ...]] = {
    # https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonFSxFullAccess.html, without what Windows
    # and ONTAP need; KMS: https://docs.aws.amazon.com/fsx/latest/LustreGuide/encryption-at-rest.html (grants)
    "AWS::FSx::FileSystem": (
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "ec2:GetSecurityGroupsForVpc",
        "fsx:CreateFileSystem",
        "fsx:CreateFileSystemFromBackup",
        "fsx:DeleteFileSystem",
        "fsx:DescribeBackups",
        "fsx:DescribeFileSystems",
        "fsx:DescribeVolumes",
        "fsx:CreateBackup",
        "fsx:ListTagsForResource",
        "fsx:TagResource",
        "fsx:UntagResource",
        "fsx:UpdateFileSystem",
        "fsx:UpdateVolume",
        "iam:CreateServiceLinkedRole",
        "kms:CreateGrant",
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:GenerateDataKey",
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    ),
    # A condition and a handle of a stack are CloudFormation's own; nothing is called.
    "AWS::CloudFormation::WaitCondition": (),
    "AWS::CloudFormation::WaitConditionHandle": (),
    # Metadata of the CDK, for which nothing is called.
    "AWS::CDK::Metadata": (),
}
"""The actions of types whose schemas have no handlers, each with its source."""
NARROWER: Mapping[str, tuple[str, ...]] = {
    # An Auto Scaling group reads the data of launch templates, and nothing else that begins with Get:
    # https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-launch-template-permissions.html
    "ec2:Get*": ("ec2:GetLaunchTemplateData",),
    # The parameters that a template names have a statement of their own.
    "ssm:Get*": (),
}
"""Wildcards in schemas, and the actions that replace them."""
_PREFIXES = {"efs:": "elasticfilesystem:"}
"""A prefix in schemas that is not the service's own in IAM."""
_IAM_NAMES = {
    "applicationautoscaling": "application-autoscaling",
    "elasticloadbalancingv2": "elasticloadbalancing",
    "stepfunctions": "states",
}
"""Services whose prefix in IAM is not the one in resource types, in lower case."""
_SUPPORTING: Mapping[str, str] = {"AWS::Budgets::Budget": "billing", "AWS::SageMaker::Domain": "elasticfilesystem"}
"""Services without a type of ours that types need: the view of a budget, and the home folders of Studio's users."""
NAMED: Mapping[str, frozenset[str]] = {
    "dynamodb": frozenset({"table"}),
    "iam": frozenset({"role", "policy", "instance-profile"}),
    "lambda": frozenset({"function", "layer"}),
    "logs": frozenset({"log-group", "log-stream"}),
    "s3": frozenset({"bucket"}),
    "secretsmanager": frozenset({"secret"}),
    "sns": frozenset({"topic"}),
    "sqs": frozenset({"queue"}),
    "states": frozenset({"statemachine"}),
}
"""Resource types whose ARNs contain names that a template determines, by service."""


@cache
def reference() -> Mapping[str, Any]:
    """Return the actions and resource types of each service, in lower case."""
    text = files("cfnlint.data.AdditionalSpecs").joinpath("Policies.json").read_text(encoding="utf-8")
    return json.loads(text)


def resources_of(action: str) -> frozenset[str] | None:
    """Return the resource types of an action; `None` for an action that does not exist."""
    service, _, name = action.partition(":")
    found = reference().get(service, {}).get("Actions", {}).get(name.lower())
    return None if found is None else frozenset(kind.lower() for kind in found.get("Resources", ()))


def actions_of(resource_type: str) -> list[str]:
    """Return the actions of a type: those in its schema that exist, and those that this module adds."""
    own = WITHOUT_HANDLERS.get(resource_type)
    if own is None:
        schema = cast(Any, PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, resource_type)).schema
        own = _listed(schema["handlers"])
    wanted = {_renamed(name) for action in own for name in NARROWER.get(action, (action,))}
    return sorted(
        action
        for action in wanted
        if action.partition(":")[0] in {*services(), _SUPPORTING.get(resource_type)} and _is_used(action)
    )


def _is_used(action: str) -> bool:
    """Return whether an action exists and is for what llm-fleet creates: it attaches no policy to users and groups."""
    kinds = resources_of(action)
    if action.startswith("iam:") and kinds and kinds <= {"group", "user"}:
        return False
    return action.endswith("*") or kinds is not None


@cache
def types() -> tuple[str, ...]:
    """Return the resource types, sorted."""
    planned = json.loads((DATA / "create_only.json").read_text(encoding="utf-8"))["facts"]
    return tuple(sorted({*planned, *_ELSEWHERE, *WITHOUT_HANDLERS}))


@cache
def services() -> frozenset[str]:
    """Return the services whose actions are kept; those of all others are for features that llm-fleet does not use."""
    own = (name.split("::")[1].lower() for name in types())
    return frozenset(_IAM_NAMES.get(name, name) for name in own)


def _renamed(action: str) -> str:
    prefix = next((wrong for wrong in _PREFIXES if action.startswith(wrong)), "")
    return _PREFIXES[prefix] + action.removeprefix(prefix) if prefix else action


def _listed(handlers: Mapping[str, Mapping[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return the permissions of all handlers except `list`, which a deployment does not call."""
    return tuple(action for name, one in handlers.items() if name != "list" for action in one["permissions"])


def scope_of(action: str) -> str:
    """Return what a statement with this action can name: `none`, `named`, `object` or `account`."""
    kinds = resources_of(action)
    if not kinds:
        return "none"
    service = action.partition(":")[0]
    # A search is checked for all log groups of the account: its errors show `log-group::log-stream:`.
    if kinds & NAMED.get(service, frozenset()) and not action.startswith(("logs:Describe", "logs:List")):
        return "named"
    return "object" if service == "s3" and "object" in kinds else "account"


def document() -> str:
    """Return the data file's text: one type a line, and one line of actions for each scope."""
    listed = {name: actions_of(name) for name in types()}
    scopes: dict[str, list[str]] = {"none": [], "named": [], "object": []}
    for action in sorted({action for actions in listed.values() for action in actions}):
        if scope_of(action) in scopes:
            scopes[scope_of(action)].append(action)
    lines = ",\n".join(f"      {json.dumps(name)}: {json.dumps(actions)}" for name, actions in listed.items())
    kinds = ",\n".join(f"      {json.dumps(name)}: {json.dumps(actions)}" for name, actions in scopes.items())
    return (
        f'{{\n  "what": {json.dumps(WHAT)},\n  "source": {json.dumps(SOURCE)},\n'
        f'  "checked": {json.dumps(CHECKED)},\n  "facts": {{\n'
        f'    "types": {{\n{lines}\n    }},\n    "scopes": {{\n{kinds}\n    }}\n  }}\n}}\n'
    )


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    text = document()
    if "--check" in arguments:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
