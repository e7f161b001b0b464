"""Ids that the users of one app's clusters have on the file systems that they share."""

from collections.abc import Sequence
from typing import cast

from constructs import Construct, IConstruct

from llm_fleet.lifecycle.cluster_user import ClusterUser
from llm_fleet.rules.people.fleet_users import check_ids_elsewhere
from llm_fleet.rules.problem import Problem, raise_problems

_MARK = "Users of "
_CONTEXT = "llm-fleet:users"


def claim_ids(cluster: Construct, users: Sequence[ClusterUser], file_systems: Sequence[object | None]) -> None:
    """Note `users` on each of `file_systems`; raise `FleetError` (LF1200, LF1201) where another cluster contradicts.

    Two clusters that share no file system may give one id to two people, though a fleet file allows no one two ids.
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
    # jsii hands every number over as a float.
    return [ClusterUser(name=name, uid=int(uid), gid=None if gid is None else int(gid)) for name, uid, gid in listed]
