"""People on a ParallelCluster: it asks a directory by itself, and writes slurm.conf itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.lifecycle.people import Directory, SlurmAccount, counted_resources, sssd_options
from llm_fleet.rules.people.kinds import check_account_kinds
from llm_fleet.spec.parallelcluster import SlurmSettings

_SECTION = "DirectoryService"
_ENFORCE, _COUNTED = "AccountingStorageEnforce", "AccountingStorageTRES"


def directory_overrides(overrides: Mapping[str, Any], directory: Directory | None) -> dict[str, Any]:
    """Return `overrides` with the section `DirectoryService` of `directory`; one of the user's own stays."""
    if directory is None or _SECTION in overrides:
        return dict(overrides)
    return {**overrides, _SECTION: directory_section(directory)}


def tells_directory_twice(overrides: Mapping[str, Any], directory: Directory | None) -> bool:
    """Return whether `overrides` have a section of the user's own beside `directory`."""
    return directory is not None and overrides.get(_SECTION) != directory_section(directory)


def directory_section(directory: Directory) -> dict[str, Any]:
    """Return ParallelCluster's section for `directory`."""
    section: dict[str, Any] = {
        "DomainName": directory.domain,
        "DomainAddr": ",".join(directory.uris),
        "PasswordSecretArn": directory.bind_secret.secret_arn,
        "DomainReadOnlyUser": directory.bind_dn,
        "LdapTlsReqCert": "hard",
        "AdditionalSssdConfigs": sssd_options(directory),
    }
    if directory.certificate_on_nodes is not None:
        section["LdapTlsCaCert"] = directory.certificate_on_nodes
    if directory.user_filter is not None:
        section["LdapAccessFilter"] = directory.user_filter
    return section


def with_limits(slurm: SlurmSettings, accounts: Sequence[SlurmAccount]) -> SlurmSettings:
    """Return `slurm` with the lines of slurm.conf that make the limits of `accounts` hold; the user's own stay.

    What is no account is left for the cluster's own checks.
    """
    if check_account_kinds(accounts, SlurmAccount) or not accounts or slurm.custom_settings_file is not None:
        return slurm
    own = {key.lower() for line in slurm.custom_settings for key in line}
    wanted = {_ENFORCE: ",".join(slurm_limit_facts().enforce), _COUNTED: ",".join(counted_resources(accounts))}
    lines = [{key: value} for key, value in wanted.items() if value and key.lower() not in own]
    return slurm.model_copy(update={"custom_settings": (*slurm.custom_settings, *lines)})
