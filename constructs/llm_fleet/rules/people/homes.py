"""Homes that are told: absolute, nobody else's, and the same folder on every node."""

from collections.abc import Iterator, Sequence

from llm_fleet.catalog.nodes import node_user_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.people import ClusterUser


def check_homes(users: Sequence[ClusterUser], *, shared_paths: Sequence[str], home_is_shared: bool) -> list[Problem]:
    """Return what is wrong with the homes of `users`, each under its index.

    `shared_paths`: where nodes mount shared file systems. `home_is_shared`: the platform shares /home by itself.
    """
    shared = [*shared_paths, *(["/home"] if home_is_shared else [])]
    told = [(index, user) for index, user in enumerate(users) if user.home is not None and not is_unresolved(user.home)]
    faults = {index: _fault(user) for index, user in told}
    return [
        *(_path(index, user, faults[index]) for index, user in told if faults[index]),
        *(problem for index, user in told if not faults[index] for problem in _local(index, user, shared)),
        *_twice([(index, user) for index, user in told if not faults[index]]),
    ]


def _fault(user: ClusterUser) -> str:
    # Not every user has a type checker.
    path = user.home if isinstance(user.home, str) else ""
    parts = path.split("/")[1:]
    if not path.startswith("/") or not all(part and part not in (".", "..") for part in parts):
        return "a home is an absolute path, without `..` and without a slash at its end"
    if len(parts) < node_user_facts().home_depth:
        return "this is no folder of one user alone"
    if not node_user_facts().home_form.fullmatch(path):
        return "/etc/passwd and shells cannot hold every character"
    if parts[0] in node_user_facts().system_folders:
        return f"/{parts[0]} is of the system, and every image brings its own"
    return ""


def _path(index: int, user: ClusterUser, fault: str) -> Problem:
    return Problem(
        code=PeopleCode.HOME_PATH,
        message=f"nobody can have a home there: {fault}",
        remedy=f"write e.g. '/home/{user.name}', or leave it out",
        path=(index, "home"),
        value=user.home,
    )


def _local(index: int, user: ClusterUser, shared: Sequence[str]) -> Iterator[Problem]:
    known = [path.rstrip("/") for path in shared if not is_unresolved(path)]
    if not known or len(known) < len(shared) or any(f"{user.home}/".startswith(f"{path}/") for path in known):
        return
    yield Problem(
        code=PeopleCode.HOME_LOCAL,
        message="this is on each node's own disk, so the home would be another one on every node, and go with it",
        remedy=f"leave it out, or write a folder of a shared file system, e.g. '{known[0]}/people/{user.name}'",
        path=(index, "home"),
        value=user.home,
        allowed=f"below {' or '.join(known)}",
    )


def _twice(told: Sequence[tuple[int, ClusterUser]]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for index, user in told:
        owner = owners.setdefault(str(user.home), user.name)
        if owner != user.name:
            yield Problem(
                code=PeopleCode.HOME_TWICE,
                message=f"{owner} and {user.name} have one home, which can belong to one of them only",
                remedy="give each a home of their own",
                path=(index, "home"),
                value=user.home,
            )
