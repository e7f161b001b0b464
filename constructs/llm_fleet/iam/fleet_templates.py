"""The templates of a fleet, as far as the permissions to deploy them depend on them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet.catalog.deployment import deploy_facts
from llm_fleet.rules.deploy_role import no_assembly
from llm_fleet.rules.problem import raise_problems

_NAMES: Mapping[str, tuple[str, str]] = {
    "AWS::DynamoDB::Table": ("TableName", "dynamodb:{region}:{account}:table/{name}"),
    "AWS::IAM::InstanceProfile": ("InstanceProfileName", "iam::{account}:instance-profile/{name}"),
    "AWS::IAM::ManagedPolicy": ("ManagedPolicyName", "iam::{account}:policy/{name}"),
    "AWS::IAM::Role": ("RoleName", "iam::{account}:role/{name}"),
    "AWS::Lambda::Function": ("FunctionName", "lambda:{region}:{account}:function:{name}"),
    "AWS::Lambda::LayerVersion": ("LayerName", "lambda:{region}:{account}:layer:{name}"),
    "AWS::Logs::LogGroup": ("LogGroupName", "logs:{region}:{account}:log-group:{name}"),
    "AWS::S3::Bucket": ("BucketName", "s3:::{name}"),
    "AWS::SNS::Topic": ("TopicName", "sns:{region}:{account}:{name}"),
    "AWS::SQS::Queue": ("QueueName", "sqs:{region}:{account}:{name}"),
    "AWS::SecretsManager::Secret": ("Name", "secretsmanager:{region}:{account}:secret:{name}"),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "states:{region}:{account}:stateMachine:{name}"),
}
"""The property with the name, and the ARN without `arn:` and partition, by resource type."""
_LOGICAL = frozenset({"AWS::SecretsManager::Secret", "AWS::StepFunctions::StateMachine", "AWS::Lambda::LayerVersion"})
"""Types whose generated names may begin with the logical id, without the stack's name."""
_SECRET = re.compile(r"\{\{resolve:secretsmanager:((?:arn:[^:]+:secretsmanager:[^:]*:[^:]*:secret:)?[^:}]+)")
_PARAMETER = re.compile(r"resolve:ssm(?:-secure)?:([^:}]+)")
_PROVIDER = "-aws-parallelcluster"
"""Part of the bucket's name with the templates of ParallelCluster's provider."""
_PROVIDER_TYPES: Mapping[str, tuple[str, ...]] = {
    "AWS::CloudFormation::Stack": (),
    "AWS::IAM::ManagedPolicy": ("DefaultParallelClusterIamAdminPolicy-*", "ParallelCluster*"),
    "AWS::IAM::Role": ("ParallelClusterLambdaRole-*",),
    "AWS::Lambda::Function": ("pcluster-cfn-*",),
    "AWS::Lambda::LayerVersion": ("PCLayer-*",),
    "AWS::Logs::LogGroup": ("/aws/lambda/pcluster-cfn-*",),
    "AWS::S3::Bucket": (),
}
"""What ParallelCluster's provider, a nested stack of AWS, creates, and the names in it; others are generated.

Source: cloudformation/custom_resource/cluster.yaml and cloudformation/policies/parallelcluster-policies.yaml of
aws/aws-parallelcluster.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTemplates:
    """What the templates of a cloud assembly create."""

    prefix: str
    """What the names of all stacks begin with, as far as generated names keep it; e.g. `launch-post-`."""
    region: str | None
    """`None` for an assembly without a Region."""
    types: frozenset[str]
    """Resource types, without custom resources."""
    names: Mapping[str, tuple[str, ...]]
    """ARNs without `arn:` and partition, with `{region}` and `{account}`, by service; with `*` where needed."""
    custom: bool
    """Whether there are custom resources."""
    provider: bool
    """Whether there is a provider of ParallelCluster."""
    trusted: tuple[str, ...]
    """Services that the roles of the templates trust."""
    passed: tuple[str, ...]
    """ARNs of roles that existed before."""
    secrets: tuple[str, ...]
    """Names or ARNs of the secrets that the templates read."""
    parameters: tuple[str, ...]
    """Names of the Systems Manager parameters that the templates read."""

    @classmethod
    def read(cls, folder: Path) -> "FleetTemplates":
        """Read the cloud assembly in `folder`. Raises `FleetError` (LF1252) if it is none."""
        stacks = _stacks(folder)
        prefix = _prefix([name for name, _, _ in stacks])[: deploy_facts().stack_name_characters]
        resources = [(name, key, body) for name, _, template in stacks for key, body in template["Resources"].items()]
        types = {body["Type"] for _, _, body in resources}
        texts = list(_texts([template for _, _, template in stacks]))
        provider = any(_PROVIDER in text for text in texts) and "AWS::CloudFormation::Stack" in types
        names = {one for name, key, body in resources for one in _arns(name, key, body)}
        if provider:
            names |= set(_of_provider(prefix))
            types |= set(_PROVIDER_TYPES)
        return cls(
            prefix=prefix,
            region=next((region for _, region, _ in stacks if region != "unknown-region"), None),
            types=frozenset(kind for kind in types if not _is_custom(kind)),
            names=_by_service(names, prefix),
            custom=any(map(_is_custom, types)),
            provider=provider,
            trusted=tuple(
                sorted({each for _, _, body in resources for each in _trusted(body)} | _PROVIDER_TRUST[provider])
            ),
            passed=tuple(sorted({text for text in texts if re.fullmatch(r"arn:[^:]+:iam::\d+:role/\S+", text)})),
            secrets=tuple(sorted({found[1] for text in texts for found in _SECRET.finditer(text)})),
            parameters=tuple(
                sorted(
                    {one for _, _, template in stacks for one in _parameters(template)}
                    | {found[1] for text in texts for found in _PARAMETER.finditer(text)}
                )
            ),
        )


_PROVIDER_TRUST: Mapping[bool, frozenset[str]] = {True: frozenset({"lambda.amazonaws.com"}), False: frozenset()}


def _stacks(folder: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, Region and template of each stack."""
    manifest = folder / "manifest.json"
    try:
        artifacts = json.loads(manifest.read_text(encoding="utf-8"))["artifacts"]
        found = [
            (
                each["properties"].get("stackName", key),
                each["environment"].rpartition("/")[2],
                json.loads((folder / each["properties"]["templateFile"]).read_text(encoding="utf-8")),
            )
            for key, each in artifacts.items()
            if each["type"] == "aws:cloudformation:stack"
        ]
    except (OSError, ValueError, KeyError) as error:
        raise_problems([no_assembly(folder, f"{type(error).__name__}: {error}")])
        raise
    if not found:
        raise_problems([no_assembly(folder, "it has no stacks")])
    return found


def _is_custom(kind: str) -> bool:
    return kind.startswith("Custom::") or kind == "AWS::CloudFormation::CustomResource"


def _prefix(names: Sequence[str]) -> str:
    """Return what all names begin with, up to and including a hyphen; a single name and a hyphen."""
    if len(names) == 1:
        return f"{names[0]}-"
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first[:same].rfind("-") + 1]


def _arns(stack: str, logical_id: str, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ARN of a resource whose type has a name."""
    if body["Type"] not in _NAMES:
        return
    key, arn = _NAMES[body["Type"]]
    given = body.get("Properties", {}).get(key)
    for name in _generated(body["Type"], stack, logical_id) if given is None else (_pattern(given),):
        yield arn.replace("{name}", name)


def _of_provider(prefix: str) -> Iterator[str]:
    """Yield the ARNs of what ParallelCluster's provider creates; its stacks begin with `prefix`, too."""
    for kind, names in _PROVIDER_TYPES.items():
        yield from _arns(prefix, "", {"Type": kind})
        for name in names:
            yield _NAMES[kind][1].replace("{name}", name)


def _generated(kind: str, stack: str, logical_id: str) -> Iterator[str]:
    """Yield patterns of the name that CloudFormation generates.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-name.html, and
    assumption: generated-names-begin-with-the-stack
    """
    begin = stack[: deploy_facts().stack_name_characters]
    yield f"{begin.lower() if kind == 'AWS::S3::Bucket' else begin}*"
    if kind in _LOGICAL and logical_id:
        yield f"{logical_id}*"


def _pattern(value: Any) -> str:
    """Return `value` with `*` for each part that is resolved at deployment."""
    if isinstance(value, str):
        return value
    match cast("dict[str, Any]", value):
        case {"Fn::Join": [str(delimiter), [*items]]}:
            text = delimiter.join(map(_pattern, items))
        case {"Fn::Sub": str(sub)}:
            text = re.sub(r"\$\{[^}]*\}", "*", sub)
        case _:
            text = "*"
    return re.sub(r"\*+", "*", text)


def _by_service(arns: set[str], prefix: str) -> dict[str, tuple[str, ...]]:
    """Return the ARNs by service; names that begin with `prefix` become one."""
    merged = {_merged(arn, prefix) for arn in arns}
    merged |= {f"{arn}:*" for arn in merged if arn.startswith("logs:")}
    services = sorted({arn.partition(":")[0] for arn in merged})
    return {name: tuple(sorted(arn for arn in merged if arn.startswith(f"{name}:"))) for name in services}


def _merged(arn: str, prefix: str) -> str:
    for start in dict.fromkeys((prefix, prefix.lower())):
        found = re.fullmatch(rf"(.*[:/]){re.escape(start)}[^:/]*", arn) if start else None
        if found is not None:
            return f"{found[1]}{start}*"
    # A secret's ARN ends in six characters of Secrets Manager's own.
    return arn if not arn.startswith("secretsmanager:") or arn.endswith("*") else f"{arn}-*"


def _trusted(body: Mapping[str, Any]) -> Iterator[str]:
    if body["Type"] != "AWS::IAM::Role":
        return
    for statement in body["Properties"]["AssumeRolePolicyDocument"].get("Statement", ()):
        principal = statement.get("Principal", {})
        services: Any = cast("dict[str, Any]", principal).get("Service", ()) if isinstance(principal, dict) else ()
        for each in [services] if isinstance(services, str) else services:
            if isinstance(each, str):
                yield each


def _parameters(template: Mapping[str, Any]) -> Iterator[str]:
    for body in template.get("Parameters", {}).values():
        if body["Type"].startswith("AWS::SSM::Parameter::Value<") and isinstance(body.get("Default"), str):
            yield body["Default"]


def _texts(value: Any) -> Iterator[str]:
    """Yield each text in `value`; a joined text also as a pattern."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)
    elif isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        if "Fn::Join" in mapping:
            yield _pattern(mapping)
        for item in mapping.values():
            yield from _texts(item)
