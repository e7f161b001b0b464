"""How nodes read of people: Slurm's accounts, and a directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.named_files.named_file import read_regular_file
from llm_fleet.spec.people import SlurmAccount

_IDS = slurm_limit_facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """An LDAP directory or Active Directory that nodes know people from, by SSSD.

    Nothing is checked here: the cluster does. On ParallelCluster it becomes the section `DirectoryService`. It is
    asked over TLS alone, by a reader whose password each node fetches from Secrets Manager when it starts.
    """

    domain: str
    """Its DNS name, e.g. `corp.example.com`; SSSD's name of it, too."""
    uris: Sequence[str]
    """Where it is, e.g. `ldaps://ldap.corp.example.com`; the first that answers is asked."""
    base_dn: str
    """Where search begins, e.g. `dc=corp,dc=example,dc=com`."""
    bind_dn: str
    """The reader's distinguished name. It needs no right but to read people and groups."""
    bind_secret: secretsmanager.ISecret | secretsmanager.Secret
    """Its text is the reader's password alone."""
    certificate: str | Path
    """The authority that the directory's certificate is of: a PEM file beside the program, which goes with the bundle;
    or, as text that begins with a slash, the path of one that the image carries. ParallelCluster takes the latter only.
    """
    kind: Literal["ldap", "active_directory"] = "ldap"
    """`active_directory`: its schema, and ids that SSSD works out of SIDs, alike on every node."""
    start_tls: bool = False
    """Whether TLS is started on an `ldap://` address before anything is said. Default: no; `ldaps://` has it anyhow."""
    map_ids: bool | None = None
    """Whether ids come from SIDs, not from `uidNumber`. Default: yes with Active Directory, else no."""
    first_id: int = _IDS.first_mapped_id
    """The lowest id of its people; others do not come in. Default: 200000, SSSD's own."""
    last_id: int = _IDS.last_mapped_id
    """The highest. Default: 2000200000, SSSD's own."""
    user_filter: str | None = None
    """LDAP filter of who may log in. Default: everybody that the directory has."""
    group_filter: str | None = None
    """LDAP filter of the groups that nodes see. Default: all."""
    sudo_groups: Sequence[str] = ()
    """Groups whose members may become root without a password. Default: none."""
    ssh_public_key_attribute: str | None = None
    """Attribute with people's public SSH keys. Default: none; people come by Session Manager."""
    home: str | None = None
    """Where homes are, with `%u` for the login name. Default: a folder of that name where the cluster has its homes."""
    test_user: str | None = None
    """A login name that every node looks up before it is green. Default: only that SSSD is online is looked at."""
    sssd_on_image: bool = False
    """Your word that the image carries SSSD. Default: no; it is installed from the pinned downloads."""

    @property
    def certificate_on_nodes(self) -> str | None:
        """The path of the authority on the nodes, where the image carries it."""
        return self.certificate if isinstance(self.certificate, str) and self.certificate.startswith("/") else None

    @property
    def certificate_text(self) -> str | None:
        """The authority in PEM, where it goes with the bundle; empty for a file that cannot be read."""
        if self.certificate_on_nodes is not None:
            return None
        try:
            return read_regular_file(Path(self.certificate), encoding="ascii")
        except (OSError, ValueError):
            return ""

    @property
    def maps_ids(self) -> bool:
        """`map_ids` with its default filled in."""
        return self.kind == "active_directory" if self.map_ids is None else self.map_ids


_SCHEMAS = {"ldap": "rfc2307", "active_directory": "AD"}


def sssd_options(directory: Directory) -> dict[str, str]:
    """Return the options of SSSD's domain that ParallelCluster has no key for; nodes of HyperPod write the same."""
    options = {
        "ldap_search_base": directory.base_dn,
        "ldap_schema": _SCHEMAS[directory.kind],
        "ldap_id_mapping": str(directory.maps_ids),
        "min_id": str(directory.first_id),
        "max_id": str(directory.last_id),
        "ldap_id_use_start_tls": str(directory.start_tls),
    }
    if directory.maps_ids:
        # Only then: the range is cut into slices, and every node must cut it alike.
        options |= {
            "ldap_idmap_range_min": str(directory.first_id),
            "ldap_idmap_range_max": str(directory.last_id),
        }
    if directory.group_filter is not None:
        options["ldap_group_search_base"] = f"{directory.base_dn}??{directory.group_filter}"
    if directory.ssh_public_key_attribute is not None:
        options["ldap_user_ssh_public_key"] = directory.ssh_public_key_attribute
    if directory.home is not None:
        options["override_homedir"] = directory.home
    return options


def render_people(accounts: Sequence[SlurmAccount], directory: Directory | None) -> dict[str, Any]:
    """Return the keys that a manifest has for them; none without them, so that other manifests stay as they are."""
    told: dict[str, Any] = {}
    if accounts:
        told["slurm_accounts"] = {
            "image_account": slurm_limit_facts().image_account,
            "enforce": list(slurm_limit_facts().enforce),
            "counted": counted_resources(accounts),
            "tree": [_account(account) for account in _from_the_root(accounts)],
        }
    if directory is not None:
        told["directory"] = _directory(directory)
    return told


def counted_resources(accounts: Sequence[SlurmAccount]) -> list[str]:
    """Return the resources that Slurm must be told to count (`AccountingStorageTRES`) before it can limit them."""
    named = {name for account in accounts for limits in (account.grp_tres, account.max_tres_per_job) for name in limits}
    return sorted(named - {*slurm_limit_facts().counted})


def _from_the_root(accounts: Sequence[SlurmAccount]) -> list[SlurmAccount]:
    """Return `accounts` with each behind the one above it: sacctmgr makes none below one that is not there."""
    ordered: list[SlurmAccount] = []
    waiting = list(accounts)
    while waiting:
        placed = {account.name for account in ordered}
        # One above that is a token, known at deploy time alone, holds nobody up.
        ready = [one for one in waiting if one.parent in (None, *placed)] or waiting
        ordered += ready
        waiting = [account for account in waiting if account not in ready]
    return ordered


def _account(account: SlurmAccount) -> dict[str, Any]:
    counts = {
        "Fairshare": account.fairshare,
        "GrpJobs": account.grp_jobs,
        "GrpSubmitJobs": account.grp_submit_jobs,
        "MaxJobs": account.max_jobs,
        "MaxSubmitJobs": account.max_submit_jobs,
        "MaxWall": account.max_wall_minutes,
    }
    return {
        "name": account.name,
        "parent": account.parent or slurm_limit_facts().root_account,
        "counts": [{"option": option, "limit": limit} for option, limit in counts.items()],
        "resources": [
            {"option": "GrpTRES", "limits": _limits(account.grp_tres)},
            {"option": "MaxTRES", "limits": _limits(account.max_tres_per_job)},
        ],
    }


def _limits(given: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"resource": name, "limit": limit} for name, limit in sorted(given.items())]


def _directory(directory: Directory) -> dict[str, Any]:
    return {
        "domain": directory.domain,
        "uris": list(directory.uris),
        "bind_dn": directory.bind_dn,
        "bind_secret_arn": directory.bind_secret.secret_arn,
        "certificate_on_nodes": directory.certificate_on_nodes,
        "certificate_text": directory.certificate_text,
        "options": [{"name": name, "value": value} for name, value in sssd_options(directory).items()],
        "user_filter": directory.user_filter,
        "sudo_groups": list(directory.sudo_groups),
        "ssh_keys": directory.ssh_public_key_attribute is not None,
        "test_user": directory.test_user,
    }
