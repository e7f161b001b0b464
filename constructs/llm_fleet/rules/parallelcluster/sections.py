"""Sections without attributes, where they stand in the overrides: directory service, IAM, packages, Chef attributes."""

import json
import re
from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.iam_prefix import check_prefix_form
from llm_fleet.rules.parallelcluster.overridden import overridden, section
from llm_fleet.rules.parallelcluster.terms import InternalStorage
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_nodes import HeadNode

_DOMAIN = re.compile(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*|(DC|dc)=[a-zA-Z0-9_-]+(,(DC|dc)=[a-zA-Z0-9_-]+)*")
_SECRET = re.compile(r"arn:[^:]+:secretsmanager:[^:]*:[^:]*:secret:.+")
_READINESS = ("cluster_readiness_check_enabled", "cluster_readiness_check_ignore_failure")


def check_efs_settings(head: HeadNode) -> list[Problem]:
    """Check that settings of an internal EFS come with one (SharedStorageEfsSettingsValidator)."""
    told = section(head.overrides, "SharedStorageEfsSettings")
    if not told or head.internal_storage == InternalStorage.EFS:
        return []
    return [
        Problem(
            code=Code.PC_SETTING,
            message="ParallelCluster's own folders lie on EBS, and these are settings of an EFS",
            remedy="write Efs as the head node's internal_storage, or leave them out",
            path=("overrides", "SharedStorageEfsSettings"),
            value=dict(told),
        )
    ]


def check_directory(cluster: ClusterShape) -> list[Problem]:
    """Check a directory service: its name, its secret, and what SSSD may be told.

    (DomainNameValidator, PasswordSecretArnValidator without its look-up, AdditionalSssdConfigsValidator.)
    """
    told = section(cluster.overrides, "DirectoryService")
    problems: list[Problem] = []
    name, arn = told.get("DomainName"), told.get("PasswordSecretArn")
    if isinstance(name, str) and not is_unresolved(name) and not _DOMAIN.fullmatch(name):
        problems.append(
            _directory(
                "DomainName", name, "this is no name of a domain", "write corp.example.com or DC=corp,DC=example,DC=com"
            )
        )
    if isinstance(arn, str) and not is_unresolved(arn) and not _SECRET.fullmatch(arn):
        problems.append(
            _directory(
                "PasswordSecretArn",
                arn,
                "the password is read from Secrets Manager, and this is no ARN of a secret",
                "put the password into a secret and write its ARN",
            )
        )
    return [*problems, *_check_sssd(told)]


def check_iam(cluster: ClusterShape) -> list[Problem]:
    """Check the prefix of roles and policies (IamResourcePrefixValidator)."""
    prefix = overridden(cluster.overrides, "Iam", "ResourcePrefix")
    return check_prefix_form(prefix, "overrides", "Iam", "ResourcePrefix") if isinstance(prefix, str) else []


def check_packages(cluster: ClusterShape) -> list[Problem]:
    """Check that nobody asks for Intel's platform, which is for CentOS 7 alone (IntelHpcOsValidator)."""
    keys = ("AdditionalPackages", "IntelSoftware", "IntelHpcPlatform")
    if overridden(cluster.overrides, *keys) is not True:
        return []
    return [
        Problem(
            code=Code.PC_SETTING,
            message="ParallelCluster installs Intel's HPC platform on CentOS 7 only, which it no longer has",
            remedy="leave it out; Intel MPI is in the images, and the rest comes from Intel's own repositories",
            path=("overrides", *keys),
            value=True,
        )
    ]


def check_chef_attributes(cluster: ClusterShape) -> list[Problem]:
    """Check attributes handed to Chef, a text of JSON (ExtraChefAttributesValidator)."""
    path = ("overrides", "DevSettings", "Cookbook", "ExtraChefAttributes")
    text = overridden(cluster.overrides, *path[1:])
    if not isinstance(text, str) or is_unresolved(text):
        return []
    try:
        attributes = json.loads(text)
    except ValueError:
        return [_setting(path, text, "this is no JSON", "write an object of JSON")]
    told = section({"attributes": attributes}, "attributes", "cluster")
    problems = [
        _setting(path, told[name], f"cluster.{name} is neither true nor false", "write true or false")
        for name in _READINESS
        if name in told and told[name] is not None and str(told[name]).lower() not in ("true", "false")
    ]
    least, seconds = (
        parallelcluster_limits().slurm_reconfigure_timeout,
        overridden(told, "slurm", "reconfigure_timeout"),
    )
    if seconds is not None and (type(seconds) is not int or seconds <= least):
        problems.append(
            _setting(
                path, seconds, f"cluster.slurm.reconfigure_timeout is no number of seconds above {least}", "raise it"
            )
        )
    return problems


def _check_sssd(told: Mapping[str, Any]) -> list[Problem]:
    sssd = section(told, "AdditionalSssdConfigs")
    wanted = ["id_provider"]
    if told.get("LdapAccessFilter") is not None:
        wanted.append("access_provider")
    return [
        _directory(
            "AdditionalSssdConfigs",
            sssd[key],
            f"ParallelCluster's directory is LDAP, and {key} says another",
            f"leave {key} out",
        )
        for key in wanted
        if key in sssd and sssd[key] != "ldap" and not is_unresolved(sssd[key])
    ]


def _directory(key: str, value: object, message: str, remedy: str) -> Problem:
    path = ("overrides", "DirectoryService", key)
    return Problem(code=Code.PC_DIRECTORY, message=message, remedy=remedy, path=path, value=value)


def _setting(path: tuple[PathPart, ...], value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_SETTING, message=message, remedy=remedy, path=path, value=value)
