"""People who work on several clusters: one id for one person, everywhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.people import ClusterUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A user as one place of the fleet tells them."""

    where: str
    """The place in words, e.g. `the fleet` or `cluster train`."""
    path: tuple[PathPart, ...]
    """The same place for a `Problem`."""
    user: ClusterUser

    @property
    def ids(self) -> tuple[int, int]:
        """User id and group id."""
        return self.user.uid, self.user.uid if self.user.gid is None else self.user.gid


def check_one_id_each(known: Sequence[Known], *, shares_files: bool) -> list[Problem]:
    """Return whoever has two ids, and, where clusters share files, ids that two people have.

    Within one place `check_users` tells the latter; files of clusters that share none cannot be mixed up.
    """
    comparable = [one for one in known if not is_unresolved((one.user.name, one.user.uid, one.user.gid))]
    found = list(_two_ids(comparable))
    return [*found, *_shared_ids(comparable)] if shares_files else found


def check_ids_elsewhere(
    users: Sequence[ClusterUser], elsewhere: Mapping[str, Sequence[ClusterUser]], *, shares_files: bool
) -> list[Problem]:
    """Return which of `users` contradict the users of other clusters, by the names of those; paths as `(index, …)`."""
    others = [
        Known(where=f"cluster {name}", path=(), user=user) for name, theirs in elsewhere.items() for user in theirs
    ]
    own = [Known(where="this cluster", path=(index,), user=user) for index, user in enumerate(users)]
    return [problem for problem in check_one_id_each([*others, *own], shares_files=shares_files) if problem.path]


def _two_ids(known: Sequence[Known]) -> Iterator[Problem]:
    first: dict[str, Known] = {}
    for one in known:
        other = first.setdefault(one.user.name, one)
        if other.ids == one.ids:
            continue
        attribute = "uid" if other.user.uid != one.user.uid else "gid"
        told = dict(zip(("uid", "gid"), zip(other.ids, one.ids, strict=True), strict=True))[attribute]
        yield Problem(
            code=PeopleCode.TWO_IDS,
            message=f"{one.user.name} has the {attribute} {told[0]} in {other.where} and {told[1]} in {one.where}; "
            "files belong to ids, so each would be a stranger to the other's files",
            remedy=f"write `{attribute}: {told[0]}`, or choose another login name for another person",
            path=(*one.path, attribute),
            value=told[1],
        )


def _shared_ids(known: Sequence[Known]) -> Iterator[Problem]:
    first: dict[int, Known] = {}
    for one in known:
        other = first.setdefault(one.user.uid, one)
        if other.user.name != one.user.name and other.where != one.where:
            yield Problem(
                code=PeopleCode.SHARED_ID,
                message=f"{other.user.name} in {other.where} and {one.user.name} in {one.where} have one user id, and "
                "their clusters share a file system: each could read and delete the other's files",
                remedy=f"give {one.user.name} an id that nobody else of the fleet has",
                path=(*one.path, "uid"),
                value=one.user.uid,
            )
