"""Replaces CDK tokens by valid values, so that a configuration can be validated before deployment.

A CloudFormation function, or an unresolved CDK token, is replaced by a value of the type that its key requires: for a
subnet a subnet id, a different one for each token. If it is only a part of a text, the rest of the text is unchanged.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

ACCOUNT = "123456789012"
REGION = "us-west-2"

PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "stack",
    "AWS::URLSuffix": "amazonaws.com",
}

# A key's name in ParallelCluster, or section and key where one name has two kinds; {17} is seventeen hexadecimal
# digits of the token, {8} eight of them.
SHAPES = {
    "SubnetId": "subnet-{17}",
    "SubnetIds": "subnet-{17}",
    "SecurityGroups": "sg-{17}",
    "SecurityGroupIds": "sg-{17}",
    "AdditionalSecurityGroups": "sg-{17}",
    "CustomAmi": "ami-{17}",
    "FileSystemId": "fs-{17}",
    "EbsSettings/VolumeId": "vol-{17}",
    "VolumeId": "fsvol-{17}",
    "FileCacheId": "fc-{17}",
    "AccessPointId": "fsap-{17}",
    "SnapshotId": "snap-{17}",
    "BackupId": "backup-{17}",
    "LaunchTemplateId": "lt-{17}",
    "CapacityReservationId": "cr-{17}",
    "CapacityReservationResourceGroupArn": f"arn:aws:resource-groups:{REGION}:{ACCOUNT}:group/group-{{8}}",
    "ElasticIp": "eipalloc-{17}",
    "HostedZoneId": "Z{17}",
    "KmsKeyId": "{8}-0000-4000-8000-{12}",
    "KeyName": "key-{8}",
    "BucketName": "bucket-{8}",
    "CustomS3Bucket": "bucket-{8}",
    "Script": "s3://bucket-{8}/script.sh",
    "Policy": f"arn:aws:iam::{ACCOUNT}:policy/parallelcluster-{{8}}",
    "PermissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/boundary-{{8}}",
    "InstanceRole": f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/role-{{8}}",
    "InstanceProfile": f"arn:aws:iam::{ACCOUNT}:instance-profile/parallelcluster/profile-{{8}}",
    "LambdaFunctionsRole": f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/role-{{8}}",
    "PasswordSecretArn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:secret-{{8}}-AbCdEf",
    "MungeKeySecretArn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:secret-{{8}}-AbCdEf",
    "Uri": "host-{8}.example.com:3306",
    "Host": "host-{8}.example.com",
    "HttpProxyAddress": "http://host-{8}.example.com:3128",
    "AllowedIps": "10.0.0.0/16",
    "Region": REGION,
    "InstanceType": "c5.xlarge",
}
_PLAIN = "x{8}"
_TOKEN = re.compile(r"[$#]\{Token\[[^]]*\]\}")
_NUMBER_TOKEN_CEILING = -1.8e289
_SCHEMA = "catalog/data/parallelcluster_schema.json"
_NOTHING = object()


def without_tokens(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with a valid dummy for each value that is resolved at deployment.

    `Fn::If` becomes its first branch; a key with `AWS::NoValue` is omitted.
    """
    return cast("dict[str, Any]", _plain(configuration, ()))


def is_function(value: Any) -> bool:
    """Return whether a value is a CloudFormation function, e.g. `{"Ref": …}` or `{"Fn::GetAtt": …}`."""
    if not isinstance(value, Mapping) or len(cast("Mapping[Any, Any]", value)) != 1:
        return False
    key = str(next(iter(cast("Mapping[Any, Any]", value))))
    return key == "Ref" or key.startswith("Fn::")


def dummy(path: Sequence[str], token: Any) -> Any:
    """Return the dummy for a token at a path: keys from the root, with `[]` after a key for a list's items."""
    facts = _schema_types()
    if path and "/".join(path) not in facts and f"{'/'.join(path)}[]" in facts:
        return [dummy((*path[:-1], f"{path[-1]}[]"), token)]
    kind = facts.get("/".join(path), {}).get("type")
    if kind in ("int", "float"):
        low = facts["/".join(path)].get("range", [1])[0]
        return max(low or 1, 1)
    if kind == "bool":
        return True
    keys = [key.removesuffix("[]") for key in path]
    shape = SHAPES.get("/".join(keys[-2:])) or SHAPES.get(keys[-1] if keys else "") or _PLAIN
    return _shaped(shape, token)


def _shaped(shape: str, token: Any) -> str:
    digits = hashlib.sha256(json.dumps(token, sort_keys=True, default=str).encode()).hexdigest()
    return re.sub(r"\{(\d+)\}", lambda count: digits[: int(count[1])], shape)


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _plain_text(value, path)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return dummy(path, value) if value <= _NUMBER_TOKEN_CEILING else value
    if is_function(value):
        return _called(value, path)
    if isinstance(value, Mapping):
        items = {key: _plain(item, (*path, str(key))) for key, item in cast("Mapping[str, Any]", value).items()}
        return {key: item for key, item in items.items() if item is not _NOTHING}
    if isinstance(value, list | tuple):
        inner = (*path[:-1], f"{path[-1]}[]") if path else path
        items = [_plain(item, inner) for item in cast("Sequence[Any]", value)]
        return [item for item in items if item is not _NOTHING]
    if hasattr(value, "resolve") and hasattr(value, "creation_stack"):
        return dummy(path, id(value))
    return value


def _plain_text(text: str, path: tuple[str, ...]) -> Any:
    if _TOKEN.fullmatch(text):
        return dummy(path, text)
    return _whole(_TOKEN.sub(lambda token: _part(token[0]), text), path) if _TOKEN.search(text) else text


def _whole(text: str, path: tuple[str, ...]) -> str:
    """Return a text with known parts and dummies; if it must be a script's URI, its first part is a folder's URI."""
    is_script = bool(path) and path[-1] == "Script" and not text.startswith(("s3://", "https://"))
    return f"{_shaped('s3://bucket-{8}/', text)}{text}" if is_script else text


def _called(function: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value of a CloudFormation function if it can be resolved, otherwise a dummy."""
    name, argument = next(iter(function.items()))
    if name == "Ref" and argument == "AWS::NoValue":
        return _NOTHING
    if name == "Fn::If":
        return _plain(argument[1], path)
    if name == "Ref" and argument in PSEUDO_PARAMETERS:
        return PSEUDO_PARAMETERS[argument]
    if name == "Fn::Join" or (name == "Fn::Sub" and isinstance(argument, str)):
        return _whole(_text(function), path)
    return dummy(path, function)


def _text(value: Any) -> str:
    """Return a value as a part of a text; its literal parts are unchanged."""
    if not is_function(value):
        return _TOKEN.sub(lambda token: _part(token[0]), str(value))
    name, argument = next(iter(cast("Mapping[str, Any]", value).items()))
    if name == "Fn::Join" and isinstance(argument[1], list):
        return str(argument[0]).join(_text(part) for part in cast("list[Any]", argument[1]))
    if name == "Fn::Sub" and isinstance(argument, str):
        return re.sub(r"\$\{([^}]+)\}", lambda found: _text({"Ref": found[1]}), argument)
    if name == "Ref" and argument in PSEUDO_PARAMETERS:
        return PSEUDO_PARAMETERS[argument]
    return _part(value)


def _part(token: Any) -> str:
    """Return a part of a text: a port where a port is required, otherwise a word."""
    requested = json.dumps(token, default=str)
    return "3306" if re.search(r"\bPort\b|\.Port\"", requested) else _shaped(_PLAIN, token)


@cache
def _schema_types() -> dict[str, dict[str, Any]]:
    text = resources.files("llm_fleet").joinpath(_SCHEMA).read_text(encoding="utf-8")
    return json.loads(text)["facts"]
