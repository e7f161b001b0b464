"""A SageMaker Studio domain: its users, instance types, volumes and network."""

from collections.abc import Iterator, Mapping, Sequence

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.sagemaker.notebook import check_name_prefixes, check_pins
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import check_hyphenated_name, nearest
from llm_fleet.spec.studio import StudioSignIn, StudioSpec, StudioUser


def check_studio(studio: StudioSpec) -> list[Problem]:
    """Return what is wrong with `studio`, by attribute names; its network is checked by `check_studio_place`."""
    of_fields = check_fields(studio)
    return [
        *check_hyphenated_name(
            studio.domain_name,
            studio_facts().domain_name,
            SageMakerCode.NAME,
            "domain_name",
            what="name of the Studio domain",
        ),
        *(problem.under("users") for problem in check_studio_users(studio.users, sign_in=studio.sign_in)),
        *check_studio_instances(studio.instance_type, studio.allowed_instance_types),
        *of_fields,
        *([] if any(problem.code is SageMakerCode.STUDIO_VOLUME for problem in of_fields) else _check_volume(studio)),
        *_check_repositories(studio.code_repositories),
        *check_pins(studio.pins),
        *check_name_prefixes(studio.name_prefixes),
    ]


def _check_volume(studio: StudioSpec) -> Iterator[Problem]:
    if is_unresolved([studio.volume_gib, studio.maximum_volume_gib]) or studio.volume_gib <= studio.maximum_volume_gib:
        return
    yield studio.wrong(
        "volume_gib",
        SageMakerCode.STUDIO_VOLUME,
        f"the default volume of a space is larger than its maximum of {studio.maximum_volume_gib} GiB",
        f"write at most {studio.maximum_volume_gib} GiB, or raise the maximum",
    )


def _check_repositories(urls: Sequence[str]) -> list[Problem]:
    facts = studio_facts()
    problems = [
        Problem(
            code=SageMakerCode.STUDIO_REPOSITORY,
            message="Studio rejects this repository URL",
            remedy="write the HTTPS URL for `git clone`, without user name and password, e.g. "
            "'https://github.com/huggingface/notebooks.git'",
            path=("code_repositories", index),
            value=url,
            allowed="https:// and letters, digits, dots, hyphens, underscores and slashes",
        )
        for index, url in enumerate(urls)
        if not is_unresolved(url) and not facts.repository_url.matches(url)
    ]
    if len(urls) > facts.repositories:
        problems.append(
            Problem(
                code=SageMakerCode.STUDIO_REPOSITORY,
                message=f"a domain can have at most {facts.repositories} repositories, and these are {len(urls)}",
                remedy="keep only those that all users need",
                path=("code_repositories",),
                allowed=f"up to {facts.repositories}",
            )
        )
    return problems


def check_studio_users(users: Mapping[str, StudioUser], *, sign_in: StudioSignIn) -> list[Problem]:
    """Return what is wrong with `users`, each under its name."""
    return [
        *(problem.under(name) for name, user in users.items() for problem in _check_user(name, user, sign_in)),
        *_check_twice(users),
    ]


def check_posix_ids(user: StudioUser) -> list[Problem]:
    """Return what is wrong with the ids of `user`: Studio accepts other ranges than Linux."""
    facts = studio_facts()
    if user.uid is None and user.gid is not None:
        return [
            user.wrong(
                "gid",
                SageMakerCode.STUDIO_ID,
                "`gid` requires `uid`",
                f"write a uid as well, e.g. {facts.example_uid}",
            )
        ]
    return [*_check_id("uid", user.uid, facts.uid), *_check_id("gid", user.gid, facts.gid)]


def check_same_ids(
    users: Mapping[str, StudioUser], on_clusters: Mapping[str, Mapping[str, tuple[int, int]]]
) -> Iterator[Problem]:
    """Return a problem for each of `users` with other ids on a cluster, where the same name means the same person.

    `on_clusters`: cluster name to user name to (uid, gid). With different ids, the user could not change the files that
    they wrote on the other side.
    """
    yield from (
        problem.under(name)
        for name, user in users.items()
        for cluster, theirs in on_clusters.items()
        for problem in _check_same(name, user, theirs.get(name), cluster)
    )


def _check_user(name: str, user: StudioUser, sign_in: StudioSignIn) -> Iterator[Problem]:
    yield from check_hyphenated_name(
        name, studio_facts().user_name, SageMakerCode.NAME, what="name of the user profile"
    )
    yield from check_posix_ids(user)
    if sign_in is StudioSignIn.SSO and user.identity is None:
        yield Problem(
            code=SageMakerCode.STUDIO_SIGN_IN,
            message="`identity` is required with sign-in through IAM Identity Center",
            remedy="set `identity` to the person's user name in IAM Identity Center",
            path=("identity",),
        )
    if sign_in is StudioSignIn.IAM and user.identity is not None:
        yield user.wrong(
            "identity",
            SageMakerCode.STUDIO_SIGN_IN,
            "`identity` has no effect: with IAM sign-in, users do not sign in through IAM Identity Center",
            "remove it, or set `sign_in` to SSO",
        )


def _check_id(attribute: str, number: int | None, limit: Limit) -> Iterator[Problem]:
    if number is None or is_unresolved(number):
        return
    if type(number) is not int or not limit.holds(number):
        yield Problem(
            code=SageMakerCode.STUDIO_ID,
            message=f"`{attribute}` is outside the range that Studio allows",
            remedy="give the person an id in this range, here and on the clusters, so that files belong to the same "
            "person everywhere; or remove it here",
            path=(attribute,),
            value=number,
            allowed=limit.range,
        )


def _check_same(name: str, user: StudioUser, there: tuple[int, int] | None, cluster: str) -> Iterator[Problem]:
    if there is None or user.uid is None or not studio_facts().uid.holds(there[0]):
        return  # Studio cannot use that id.
    here = (user.uid, user.uid if user.gid is None else user.gid)
    if is_unresolved(here) or here == there:
        return
    yield Problem(
        code=SageMakerCode.STUDIO_IDS_DIFFER,
        message=f"on cluster {cluster}, {name} has uid {there[0]} and gid {there[1]}, and so cannot change files "
        "that were written in Studio",
        remedy=f"write the same ids in both places; Studio accepts uids from {studio_facts().uid.minimum}",
        path=("uid",),
        value=f"uid {here[0]}, gid {here[1]}",
    )


def _check_twice(users: Mapping[str, StudioUser]) -> Iterator[Problem]:
    names: dict[str, str] = {}
    ids: dict[int, str] = {}
    for name, user in users.items():
        # "This value is not case sensitive", says the API of UserProfileName.
        if not is_unresolved(name) and names.setdefault(name.casefold(), name) != name:
            yield _twice("two user names differ only in upper and lower case, which Studio ignores", name, value=name)
        elif user.uid is not None and not is_unresolved(user.uid) and ids.setdefault(user.uid, name) != name:
            message = f"{ids[user.uid]} and {name} have the same `uid`, so that each has the other's file permissions"
            yield _twice(message, name, "uid", value=user.uid)


def _twice(message: str, *path: str, value: str | int) -> Problem:
    return Problem(
        code=SageMakerCode.STUDIO_USER_TWICE,
        message=message,
        remedy="give each user a different one",
        path=path,
        value=value,
    )


_PREFIX = "ml."


def check_studio_instances(default: str, allowed: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the `default` type, and with `allowed` types (empty: all types)."""
    problems = [
        *(problem.under("instance_type") for problem in _check_type(default)),
        *(
            problem.under("allowed_instance_types", index)
            for index, name in enumerate(allowed)
            for problem in _check_type(name)
        ),
    ]
    if not problems and allowed and not is_unresolved([default, *allowed]) and default not in allowed:
        problems.append(
            Problem(
                code=Code.CONTRADICTION,
                message="the default `instance_type` is not one of the `allowed_instance_types`",
                remedy=f"add {default} to the allowed types, or write one of them",
                path=("instance_type",),
                value=default,
                allowed=", ".join(allowed),
            )
        )
    return problems


def _check_type(name: str) -> Iterator[Problem]:
    facts = studio_facts()
    if is_unresolved(name):
        return
    family = name.removeprefix(_PREFIX).partition(".")[0]
    if family in facts.retired_families:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            message=f"AWS no longer offers {family} instances to new customers",
            remedy=f"write `{facts.retired_families[family]}`",
            value=name,
        )
        return
    if name in facts.instances:
        return
    offer = _PREFIX + name if _PREFIX + name in facts.instances else nearest(name, facts.instances)
    sizes = [each for each in facts.instances if each.startswith(f"{_PREFIX}{family}.")]
    yield Problem(
        code=SageMakerCode.INSTANCE_UNKNOWN,
        message="Studio does not support this instance type",
        remedy=f"write `{offer}`" if offer else "write an instance type that Studio supports",
        value=name,
        allowed=", ".join(sizes) or f"e.g. {facts.default_instance}, ml.g5.xlarge or ml.trn1.2xlarge",
    )


def check_studio_place(
    studio: StudioSpec,
    *,
    has_network: bool,
    network_internet: InternetAccess | None,
    zones: Sequence[str],
    mounts_lustre: bool,
    lustre_zone: str | None,
) -> list[Problem]:
    """Return what is wrong with the network of `studio`.

    `network_internet`: the network's internet access, `None` when unknown. `zones`: AZ ids of the domain's subnets.
    `lustre_zone`: the AZ id of the file system; `None` when unknown, or without a file system.
    """
    if not has_network:
        return [
            Problem(
                code=SageMakerCode.NETWORK_NEEDED,
                message="`network` is required: a Studio domain is always in a VPC, with or without internet access",
                remedy="set `network`",
                path=("network",),
            )
        ]
    return [
        *_check_internet(studio, network_internet),
        *(_check_lustre(studio, zones, lustre_zone) if mounts_lustre else []),
    ]


def studio_zones(zones: Sequence[str], lustre_zone: str | None) -> tuple[str, ...]:
    """Return the AZs of the domain's subnets: only that of the file system that it mounts, or else all of `zones`.

    This avoids traffic between AZs, which is slower and charged by the gigabyte.
    """
    return (lustre_zone,) if lustre_zone is not None and lustre_zone in zones else tuple(zones)


def studio_claims(users: int, *, zones: Sequence[str], home_efs: bool, owner: str) -> list[AddressClaim]:
    """Return the addresses that a domain with this number of `users` takes from each of its subnets.

    All applications may run in one subnet. AWS recommends 2 to 4 addresses per user and documents nothing more.
    """
    facts = studio_facts()
    assumption = f"AWS recommends up to {facts.addresses_per_user} addresses per Studio user, in any of the subnets"
    claims: list[AddressClaim] = []
    for zone in zones:
        claims.append(
            AddressClaim(
                owner=owner,
                what="applications of a Studio user",
                count=users,
                addresses_each=facts.addresses_per_user,
                availability_zone_id=zone,
                assumption=assumption,
            )
        )
        if home_efs:
            claims.append(
                AddressClaim(
                    owner=owner,
                    what="EFS mount target",
                    count=1,
                    addresses_each=facts.addresses_of_home,
                    availability_zone_id=zone,
                )
            )
    return claims


def _check_internet(studio: StudioSpec, network_internet: InternetAccess | None) -> Iterator[Problem]:
    if studio.internet and network_internet is InternetAccess.NONE:
        yield studio.wrong(
            "internet",
            SageMakerCode.STUDIO_INTERNET,
            "the network has no internet access, and this setting bypasses that through SageMaker's own network",
            "remove it: without internet access Studio works through VPC endpoints",
        )


def _check_lustre(studio: StudioSpec, zones: Sequence[str], lustre_zone: str | None) -> Iterator[Problem]:
    limit, directory = studio_facts().lustre_directory, studio.lustre_directory
    if not is_unresolved(directory) and not (limit.matches(directory) and limit.holds(len(directory))):
        yield studio.wrong(
            "lustre_directory",
            SageMakerCode.STUDIO_LUSTRE,
            "this is not a valid directory of the file system",
            "write the path from the root of the file system, beginning with a slash, without spaces",
            allowed=f"/ and up to {(limit.maximum or 0) - 1} characters without spaces",
        )
    if studio.internet:
        yield studio.wrong(
            "internet",
            SageMakerCode.STUDIO_LUSTRE,
            "applications that use SageMaker's own internet access cannot reach the file system in the VPC",
            "remove `internet`, so that applications use the VPC, or remove the file system",
        )
    if lustre_zone is not None and not is_unresolved([lustre_zone, *zones]) and lustre_zone not in zones:
        yield Problem(
            code=SageMakerCode.STUDIO_LUSTRE,
            message=f"the file system is in {lustre_zone}, where the domain has no subnet",
            remedy=f"give the domain a network with a subnet in {lustre_zone}",
            path=("lustre",),
            value=lustre_zone,
            allowed=", ".join(zones),
        )
