"""Users of a cluster: their ids on shared file systems, and the manifest's Slurm accounts and directory."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from constructs import Construct, IConstruct

from llm_fleet.catalog.nodes import slurm_limit_facts
from llm_fleet.named_files.named_file import certificate_text
from llm_fleet.rules.node_users import check_ids_elsewhere
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount

_SCHEMAS = {"ldap": "rfc2307", "active_directory": "AD"}


def sssd_options(directory: Directory) -> dict[str, str]:
    """Return the SSSD domain options for which ParallelCluster has no key; HyperPod nodes write the same ones."""
    options = {
        "ldap_search_base": directory.base_dn,
        "ldap_schema": _SCHEMAS[directory.kind],
        "ldap_id_mapping": str(directory.maps_ids),
        "min_id": str(directory.first_id),
        "max_id": str(directory.last_id),
        "ldap_id_use_start_tls": str(directory.start_tls),
    }
    if directory.maps_ids:
        # Only then: the range is divided into slices, and every node must divide it in the same way.
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
    """Return the keys that a manifest has for them; none without them, so that other manifests do not change."""
    reported: dict[str, Any] = {}
    if accounts:
        reported["slurm_accounts"] = {
            "image_account": slurm_limit_facts().image_account,
            "enforce": list(slurm_limit_facts().enforce),
            "counted": counted_resources(accounts),
            "tree": [_account(account) for account in _from_the_root(accounts)],
        }
    if directory is not None:
        reported["directory"] = _directory(directory)
    return reported


def counted_resources(accounts: Sequence[SlurmAccount]) -> list[str]:
    """Return the resources that Slurm must count (`AccountingStorageTRES`) before it can limit them."""
    named = {name for account in accounts for limits in (account.grp_tres, account.max_tres_per_job) for name in limits}
    return sorted(named - {*slurm_limit_facts().counted})


def _from_the_root(accounts: Sequence[SlurmAccount]) -> list[SlurmAccount]:
    """Return `accounts` with parents first: sacctmgr rejects an account whose parent does not exist."""
    ordered: list[SlurmAccount] = []
    waiting = list(accounts)
    while waiting:
        placed = {account.name for account in ordered}
        # A parent that is a CDK token, resolved at deployment, does not delay the others.
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
        "bind_secret_arn": directory.bind_secret_arn,
        "certificate_on_nodes": directory.certificate_on_nodes,
        "certificate_text": certificate_text(directory),
        "options": [{"name": name, "value": value} for name, value in sssd_options(directory).items()],
        "user_filter": directory.user_filter,
        "sudo_groups": list(directory.sudo_groups),
        "ssh_keys": directory.ssh_public_key_attribute is not None,
        "test_user": directory.test_user,
    }


_MARK = "Users of "
_CONTEXT = "llm-fleet:users"


def claim_ids(cluster: Construct, users: Sequence[ClusterUser], file_systems: Sequence[object | None]) -> None:
    """Record `users` on each of `file_systems`; raise `FleetError` (LF1200, LF1201) for a conflict with another.

    Two clusters without a common file system may use one id for two users, but a fleet file rejects two ids for one
    user.
    """
    if not users:
        return
    shared = [each for each in file_systems if isinstance(each, Construct)]
    problems: dict[tuple[str, tuple[str | int, ...]], Problem] = {}
    for file_system in shared:
        elsewhere = {
            child.node.id.removeprefix(_MARK): _users_of(child)
            for child in file_system.node.children
            if child.node.id.startswith(_MARK)
        }
        for problem in check_ids_elsewhere(users, elsewhere, shares_files=True):
            problems[problem.code.value, problem.path] = problem.under("users")
    raise_problems(problems.values(), subject=cluster.node.path)
    for file_system in shared:
        claim = Construct(file_system, f"{_MARK}{cluster.node.path.replace('/', '.')}")
        claim.node.set_context(_CONTEXT, [[user.name, user.uid, user.gid] for user in users])


def _users_of(claim: IConstruct) -> list[ClusterUser]:
    listed = cast("list[tuple[str, float, float | None]]", claim.node.try_get_context(_CONTEXT) or [])
    # jsii passes every number as a float.
    return [ClusterUser(name=name, uid=int(uid), gid=None if gid is None else int(gid)) for name, uid, gid in listed]
