"""A domain of SageMaker Studio: its people, instances and volumes, and where it stands."""

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
    """Return what is wrong with `studio`, by attribute names; where it stands is for `check_studio_place`."""
    of_fields = check_fields(studio)
    return [
        *check_hyphenated_name(
            studio.domain_name, studio_facts().domain_name, SageMakerCode.NAME, "domain_name", what="domain's name"
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
        f"a new space would have more than the {studio.maximum_volume_gib} GiB that one may have",
        f"write at most {studio.maximum_volume_gib} GiB, or allow more",
    )


def _check_repositories(urls: Sequence[str]) -> list[Problem]:
    facts = studio_facts()
    problems = [
        Problem(
            code=SageMakerCode.STUDIO_REPOSITORY,
            message="Studio offers no repository of such an address",
            remedy="write the address that `git clone` takes, without user and password, e.g. "
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
                message=f"these are {len(urls)} repositories",
                remedy="keep those that everybody needs",
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
    """Return what is wrong with the ids of `user`: Studio takes other ranges than Linux does."""
    facts = studio_facts()
    if user.uid is None and user.gid is not None:
        return [
            user.wrong(
                "gid",
                SageMakerCode.STUDIO_ID,
                "a group id without a user id",
                f"write a uid, too, e.g. {facts.example_uid}",
            )
        ]
    return [*_check_id("uid", user.uid, facts.uid), *_check_id("gid", user.gid, facts.gid)]


def check_same_ids(
    users: Mapping[str, StudioUser], on_clusters: Mapping[str, Mapping[str, tuple[int, int]]]
) -> Iterator[Problem]:
    """Return who of `users` has other ids on a cluster, where the same name stands for the same person.

    `on_clusters`: by the cluster's name and the user's, uid and gid. Files of one could not be changed by the other.
    """
    yield from (
        problem.under(name)
        for name, user in users.items()
        for cluster, theirs in on_clusters.items()
        for problem in _check_same(name, user, theirs.get(name), cluster)
    )


def _check_user(name: str, user: StudioUser, sign_in: StudioSignIn) -> Iterator[Problem]:
    yield from check_hyphenated_name(name, studio_facts().user_name, SageMakerCode.NAME, what="user profile's name")
    yield from check_posix_ids(user)
    if sign_in is StudioSignIn.SSO and user.identity is None:
        yield Problem(
            code=SageMakerCode.STUDIO_SIGN_IN,
            message="nobody in IAM Identity Center is told who this is, so nobody could sign in",
            remedy="write identity, the user name there",
            path=("identity",),
        )
    if sign_in is StudioSignIn.IAM and user.identity is not None:
        yield user.wrong(
            "identity",
            SageMakerCode.STUDIO_SIGN_IN,
            "with IAM nobody signs in by IAM Identity Center",
            "remove it, or let people sign in by SSO",
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


def _check_same(name: str, user: StudioUser, there: tuple[int, int] | None, cluster: str) -> Iterator[Problem]:
    if there is None or user.uid is None or not studio_facts().uid.holds(there[0]):
        return  # No id of Studio's could be that one.
    here = (user.uid, user.uid if user.gid is None else user.gid)
    if is_unresolved(here) or here == there:
        return
    yield Problem(
        code=SageMakerCode.STUDIO_IDS_DIFFER,
        message=f"on cluster {cluster} {name} has uid {there[0]} and gid {there[1]}, so that neither could change "
        "the other's files",
        remedy=f"write the same ids in both places; Studio takes uids from {studio_facts().uid.minimum} on",
        path=("uid",),
        value=f"uid {here[0]}, gid {here[1]}",
    )


def _check_twice(users: Mapping[str, StudioUser]) -> Iterator[Problem]:
    names: dict[str, str] = {}
    ids: dict[int, str] = {}
    for name, user in users.items():
        # "This value is not case sensitive", says the API of UserProfileName.
        if not is_unresolved(name) and names.setdefault(name.casefold(), name) != name:
            yield _twice("two users have one name, of which case makes no other", name, value=name)
        elif user.uid is not None and not is_unresolved(user.uid) and ids.setdefault(user.uid, name) != name:
            message = f"{ids[user.uid]} and {name} have one user id, so each could do what the other can"
            yield _twice(message, name, "uid", value=user.uid)


def _twice(message: str, *path: str, value: str | int) -> Problem:
    return Problem(
        code=SageMakerCode.STUDIO_USER_TWICE,
        message=message,
        remedy="give each one of their own",
        path=path,
        value=value,
    )


_PREFIX = "ml."


def check_studio_instances(default: str, allowed: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the `default` type, and with those `allowed` (empty: all)."""
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
                message="the type that applications run on unless somebody chooses is not among those allowed",
                remedy=f"allow {default}, or write one of the allowed",
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
            message=f"{family} is hardware that new users do not get any more",
            remedy=f"write {facts.retired_families[family]!r}",
            value=name,
        )
        return
    if name in facts.instances:
        return
    offer = _PREFIX + name if _PREFIX + name in facts.instances else nearest(name, facts.instances)
    sizes = [each for each in facts.instances if each.startswith(f"{_PREFIX}{family}.")]
    yield Problem(
        code=SageMakerCode.INSTANCE_UNKNOWN,
        message="Studio has no applications on such an instance",
        remedy=f"write {offer!r}" if offer else "write one of Studio's types",
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
    """Return what is wrong with where `studio` stands.

    `network_internet`: the network's own way out, `None` where nobody told. `zones`: AZ ids of the domain's subnets.
    `lustre_zone`: where the file system stands; `None` where nobody told, or there is none.
    """
    if not has_network:
        return [
            Problem(
                code=SageMakerCode.NETWORK_NEEDED,
                message="a domain of Studio stands in a VPC, whichever way it takes to the internet",
                remedy="give it a network",
                path=("network",),
            )
        ]
    return [
        *_check_internet(studio, network_internet),
        *(_check_lustre(studio, zones, lustre_zone) if mounts_lustre else []),
    ]


def studio_zones(zones: Sequence[str], lustre_zone: str | None) -> tuple[str, ...]:
    """Return the AZs whose subnets a domain is given: that of the file system that it mounts, else all of `zones`.

    In one AZ no byte of the file system crosses to another, which is slower and costs by the gigabyte.
    """
    return (lustre_zone,) if lustre_zone is not None and lustre_zone in zones else tuple(zones)


def studio_claims(users: int, *, zones: Sequence[str], home_efs: bool, owner: str) -> list[AddressClaim]:
    """Return what a domain with so many `users` takes of each of its subnets.

    The users' applications may all be in one subnet. AWS recommends 2 to 4 addresses a user and tells no more.
    """
    facts = studio_facts()
    assumption = f"AWS recommends up to {facts.addresses_per_user} addresses a user of Studio, wherever they run"
    claims: list[AddressClaim] = []
    for zone in zones:
        claims.append(
            AddressClaim(
                owner=owner,
                what="applications of a user of Studio",
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
                    what="mount target of EFS",
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
            "the network has no way to the internet, and Studio would be one around it, past its endpoints",
            "leave it out: in a closed network Studio works through the VPC's endpoints",
        )


def _check_lustre(studio: StudioSpec, zones: Sequence[str], lustre_zone: str | None) -> Iterator[Problem]:
    limit, directory = studio_facts().lustre_directory, studio.lustre_directory
    if not is_unresolved(directory) and not (limit.matches(directory) and limit.holds(len(directory))):
        yield studio.wrong(
            "lustre_directory",
            SageMakerCode.STUDIO_LUSTRE,
            "this is no directory of the file system",
            "begin it with a slash, as seen from the root of the file system, and leave blanks out",
            allowed=f"/ and up to {(limit.maximum or 0) - 1} characters without blanks",
        )
    if studio.internet:
        yield studio.wrong(
            "internet",
            SageMakerCode.STUDIO_LUSTRE,
            "applications that take SageMaker's own way to the internet cannot reach the file system, "
            "which stands in the VPC",
            "leave internet out, so that they take the VPC's, or leave the file system out",
        )
    if lustre_zone is not None and not is_unresolved([lustre_zone, *zones]) and lustre_zone not in zones:
        yield Problem(
            code=SageMakerCode.STUDIO_LUSTRE,
            message=f"the file system stands in {lustre_zone}, and no subnet of the domain does",
            remedy=f"give the domain a network with a subnet in {lustre_zone}",
            path=("lustre",),
            value=lustre_zone,
            allowed=", ".join(zones),
        )
