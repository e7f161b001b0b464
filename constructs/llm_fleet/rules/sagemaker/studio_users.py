"""Who works in Studio: names, ids in file systems, and how they sign in."""

from collections.abc import Iterator, Mapping, Sequence

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.studio import studio_facts
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.studio_protocols import StudioUserLike
from llm_fleet.rules.sagemaker.studio_terms import StudioSignIn
from llm_fleet.rules.tokens import is_unresolved


def check_studio_users(users: Sequence[StudioUserLike], *, sign_in: StudioSignIn) -> list[Problem]:
    """Return what is wrong with `users`, each under its index."""
    return [
        *(problem.under(index) for index, user in enumerate(users) for problem in _check_user(user, sign_in)),
        *_check_twice(users),
    ]


def check_posix_ids(user: StudioUserLike) -> list[Problem]:
    """Return what is wrong with the ids of `user`: Studio takes other ranges than Linux does."""
    facts = studio_facts()
    if user.uid is None and user.gid is not None:
        return [
            Problem(
                code=SageMakerCode.STUDIO_ID,
                message="a group id without a user id",
                remedy=f"write a uid, too, e.g. {facts.example_uid}",
                path=("gid",),
                value=user.gid,
            )
        ]
    return [*_check_id("uid", user.uid, facts.uid), *_check_id("gid", user.gid, facts.gid)]


def check_same_ids(
    users: Sequence[StudioUserLike], on_clusters: Mapping[str, Mapping[str, tuple[int, int]]]
) -> list[Problem]:
    """Return who of `users` has other ids on a cluster, where the same name stands for the same person.

    `on_clusters`: by the cluster's name and the user's, uid and gid. Files of one could not be changed by the other.
    """
    return [
        problem.under(index)
        for index, user in enumerate(users)
        for cluster, theirs in on_clusters.items()
        for problem in _check_same(user, theirs.get(user.name), cluster)
    ]


def _check_user(user: StudioUserLike, sign_in: StudioSignIn) -> Iterator[Problem]:
    yield from check_hyphenated_name(
        user.name, studio_facts().user_name, SageMakerCode.NAME, "name", what="user profile's name"
    )
    yield from check_posix_ids(user)
    if sign_in is StudioSignIn.SSO and user.identity is None:
        yield Problem(
            code=SageMakerCode.STUDIO_SIGN_IN,
            message="nobody in IAM Identity Center is told who this is, so nobody could sign in",
            remedy="write identity, the user name there",
            path=("identity",),
        )
    if sign_in is StudioSignIn.IAM and user.identity is not None:
        yield Problem(
            code=SageMakerCode.STUDIO_SIGN_IN,
            message="with IAM nobody signs in by IAM Identity Center",
            remedy="remove it, or let people sign in by SSO",
            path=("identity",),
            value=user.identity,
        )


def _check_id(attribute: str, number: int | None, limit: Limit) -> Iterator[Problem]:
    if number is None or is_unresolved(number):
        return
    if type(number) is not int or not limit.holds(number):
        yield Problem(
            code=SageMakerCode.STUDIO_ID,
            message=f"Studio takes no such {attribute}",
            remedy="give the person an id of this range on the clusters, too, so that files are the same person's "
            "everywhere, or leave it out here",
            path=(attribute,),
            value=number,
            allowed=limit.range,
        )


def _check_same(user: StudioUserLike, there: tuple[int, int] | None, cluster: str) -> Iterator[Problem]:
    if there is None or user.uid is None or not studio_facts().uid.holds(there[0]):
        return  # No id of Studio's could be that one.
    here = (user.uid, user.uid if user.gid is None else user.gid)
    if is_unresolved(here) or here == there:
        return
    yield Problem(
        code=SageMakerCode.STUDIO_IDS_DIFFER,
        message=f"on cluster {cluster} {user.name} has uid {there[0]} and gid {there[1]}, so that neither could change "
        "the other's files",
        remedy=f"write the same ids in both places; Studio takes uids from {studio_facts().uid.minimum} on",
        path=("uid",),
        value=f"uid {here[0]}, gid {here[1]}",
    )


def _check_twice(users: Sequence[StudioUserLike]) -> Iterator[Problem]:
    names: dict[str, int] = {}
    ids: dict[int, str] = {}
    for index, user in enumerate(users):
        # "This value is not case sensitive", says the API of UserProfileName.
        if not is_unresolved(user.name) and names.setdefault(user.name.casefold(), index) != index:
            yield _twice("two users have one name, of which case makes no other", index, "name", user.name)
        elif user.uid is not None and not is_unresolved(user.uid) and ids.setdefault(user.uid, user.name) != user.name:
            message = f"{ids[user.uid]} and {user.name} have one user id, so each could do what the other can"
            yield _twice(message, index, "uid", user.uid)


def _twice(message: str, index: int, attribute: str, value: str | int) -> Problem:
    return Problem(
        code=SageMakerCode.STUDIO_USER_TWICE,
        message=message,
        remedy="give each one of their own",
        path=(index, attribute),
        value=value,
    )
