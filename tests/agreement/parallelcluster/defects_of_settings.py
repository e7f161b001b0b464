"""Errors in settings of Slurm, in logs, and in sections without attributes."""

from llm_fleet.rules.codes import Code
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import Cluster, Database, with_queue, with_resource, with_slurm

DIRECTORY = {
    "DomainName": "corp.example.com",
    "DomainAddr": "ldaps://corp.example.com",
    "PasswordSecretArn": "arn:aws:secretsmanager:us-west-2:123456789012:secret:ad-AbCdEf",
    "DomainReadOnlyUser": "cn=reader,dc=corp,dc=example,dc=com",
}


def _directory(**changes: object) -> PlacedParallelCluster:
    return Cluster(overrides={"DirectoryService": {**DIRECTORY, **changes}})


def _chef(text: str) -> PlacedParallelCluster:
    return Cluster(overrides={"DevSettings": {"Cookbook": {"ExtraChefAttributes": text}}})


SLURM = (
    Defect(
        name="GresTypes",
        cluster=with_slurm(custom_settings=({"GresTypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        good=with_slurm(custom_settings=({"MessageTimeout": 60},)),
    ),
    Defect(
        name="grestypes in lower case",
        cluster=with_slurm(custom_settings=({"grestypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
    ),
    Defect(
        name="storage of accounting together with a database",
        cluster=Cluster(
            accounting=Database(), slurm=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)).slurm
        ),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        good=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)),
    ),
    Defect(
        name="OverSubscribe of a queue",
        cluster=with_queue(custom_slurm_settings={"OverSubscribe": "EXCLUSIVE"}),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        said="Queue",
        good=with_queue(custom_slurm_settings={"MaxTime": "1-0"}),
    ),
    Defect(
        name="Gres of a compute resource",
        cluster=with_resource(custom_slurm_settings={"Gres": "neuron:16"}),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        said="ComputeResource",
        good=with_resource(custom_slurm_settings={"Features": "fast"}),
    ),
    Defect(
        name="custom node with a name of ParallelCluster's",
        cluster=with_slurm(custom_settings=({"NodeName": "on-st-premises", "CPUs": 4},)),
        code=Code.PC_SLURM_NODE_NAME,
        validator="CustomSlurmNodeNamesValidator",
        good=with_slurm(custom_settings=({"NodeName": "on-premises", "CPUs": 4, "State": "UNKNOWN"},)),
    ),
    Defect(
        name="settings in place and in a file",
        cluster=with_slurm(custom_settings=({"MessageTimeout": 60},), custom_settings_file="s3://bucket/slurm.conf"),
        code=Code.PC_SLURM_BOTH,
        validator="CustomSlurmSettingsIncludeFileOnlyValidator",
        good=with_slurm(custom_settings_file="s3://bucket/slurm.conf"),
    ),
    Defect(
        name="settings in a file of the user's machine",
        cluster=with_slurm(custom_settings_file="slurm.conf"),
        code=Code.PC_SETTING,
        validator="UrlValidator",
    ),
    Defect(
        name="idle time of -2 minutes",
        cluster=with_slurm(scaledown_idletime_minutes=-2),
        code=Code.PC_SETTING,
        validator=SCHEMA,
        good=with_slurm(scaledown_idletime_minutes=-1),
    ),
)
SECTIONS = (
    Defect(
        name="logs for 10 days",
        cluster=Cluster(log_retention_days=10),
        code=Code.PC_LOG_RETENTION,
        validator=SCHEMA,
        good=Cluster(log_retention_days=14),
    ),
    Defect(
        name="invalid domain",
        cluster=_directory(DomainName="corp example"),
        code=Code.PC_DIRECTORY,
        validator="DomainNameValidator",
        good=_directory(DomainName="DC=corp,DC=example,DC=com"),
    ),
    Defect(
        name="password in SSM",
        cluster=_directory(PasswordSecretArn="arn:aws:ssm:us-west-2:123456789012:parameter/password"),
        code=Code.PC_DIRECTORY,
        validator="PasswordSecretArnValidator",
        good=_directory(),
    ),
    Defect(
        name="id_provider that is not LDAP",
        cluster=_directory(AdditionalSssdConfigs={"id_provider": "ad"}),
        code=Code.PC_DIRECTORY,
        validator="AdditionalSssdConfigsValidator",
        good=_directory(AdditionalSssdConfigs={"id_provider": "ldap", "access_provider": "ad"}),
    ),
    Defect(
        name="access_provider together with an access filter",
        cluster=_directory(LdapAccessFilter="x=y", AdditionalSssdConfigs={"access_provider": "ad"}),
        code=Code.PC_DIRECTORY,
        validator="AdditionalSssdConfigsValidator",
        said="access_provider",
        good=_directory(LdapAccessFilter="x=y", AdditionalSssdConfigs={"access_provider": "ldap"}),
    ),
    Defect(
        name="IAM prefix with a space",
        cluster=Cluster(overrides={"Iam": {"ResourcePrefix": "my team-"}}),
        code=Code.PC_RESOURCE_PREFIX,
        validator="IamResourcePrefixValidator",
        good=Cluster(overrides={"Iam": {"ResourcePrefix": "/my/team/"}}),
    ),
    Defect(
        name="IAM prefix of 31 characters",
        cluster=Cluster(overrides={"Iam": {"ResourcePrefix": "/path/" + "n" * 31}}),
        code=Code.PC_RESOURCE_PREFIX,
        validator="IamResourcePrefixValidator",
        good=Cluster(overrides={"Iam": {"ResourcePrefix": "/path/" + "n" * 30}}),
    ),
    Defect(
        name="Intel's HPC platform",
        cluster=Cluster(overrides={"AdditionalPackages": {"IntelSoftware": {"IntelHpcPlatform": True}}}),
        code=Code.PC_SETTING,
        validator="IntelHpcOsValidator",
        good=Cluster(overrides={"AdditionalPackages": {"IntelSoftware": {"IntelHpcPlatform": False}}}),
    ),
    Defect(
        name="time for Slurm's reconfiguration of 300 seconds",
        cluster=_chef('{"cluster": {"slurm": {"reconfigure_timeout": 300}}}'),
        code=Code.PC_SETTING,
        validator="ExtraChefAttributesValidator",
        good=_chef('{"cluster": {"slurm": {"reconfigure_timeout": 301}}}'),
    ),
    Defect(
        name="readiness check that is neither on nor off",
        cluster=_chef('{"cluster": {"cluster_readiness_check_enabled": "maybe"}}'),
        code=Code.PC_SETTING,
        validator="ExtraChefAttributesValidator",
        good=_chef('{"cluster": {"cluster_readiness_check_enabled": "true"}}'),
    ),
)
DEFECTS = (*SLURM, *SECTIONS)
