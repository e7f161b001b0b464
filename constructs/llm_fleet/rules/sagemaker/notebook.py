"""A notebook instance: name, platform, instance type, network, repositories, pins, and the clusters that it reaches."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.notebook import NotebookPlatform, notebook_facts
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import Form, check_fields, check_form
from llm_fleet.rules.problem import AnyCode, Problem, is_unresolved
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import check_hyphenated_name, check_number, did_you_mean
from llm_fleet.spec.notebook import GitRepository, NotebookSpec

_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.!+*_-]*"
_PIN = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*{_VERSION}(?:\s*,\s*{_VERSION})*")
_PREFIX = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]*")


def check_notebook(
    notebook: NotebookSpec, *, has_network: bool, network_internet: InternetAccess | None
) -> list[Problem]:
    """Return everything in `notebook` that SageMaker would reject or that opens unwanted internet access.

    `has_network`: whether it is in a network of the user. `network_internet`: that network's internet access; `None`
    when unknown.
    """
    idle = notebook_facts().idle_minutes
    return [
        *check_notebook_name(notebook.name),
        *check_notebook_instance_type(notebook.instance_type),
        *check_platform(notebook.platform),
        *check_fields(notebook),
        *check_number(
            notebook.idle_minutes,
            Limit(minimum=idle.min, maximum=idle.max),
            SageMakerCode.NOTEBOOK_IDLE,
            "idle_minutes",
            what="`idle`",
            remedy=f"write at least {idle.min} minutes, or None for an instance that is never stopped",
        ),
        *check_internet(notebook, has_network=has_network, network_internet=network_internet),
        *check_repositories(notebook.repositories, network_internet),
        *check_pins(notebook.pins),
        *check_name_prefixes(notebook.name_prefixes),
    ]


def check_notebook_name(name: str | None) -> list[Problem]:
    """Return a problem unless SageMaker accepts `name`; `None` passes."""
    limit = Limit(minimum=1, maximum=notebook_facts().name_max)
    return check_hyphenated_name(name, limit, SageMakerCode.NAME, "name", what="name of a notebook instance")


def check_internet(
    notebook: NotebookSpec, *, has_network: bool, network_internet: InternetAccess | None
) -> Iterator[Problem]:
    """Return a problem for internet access that the user did not set, or that bypasses a network without internet."""
    if not has_network and not notebook.internet:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_INTERNET,
            message="without `network`, the notebook instance would have internet access through SageMaker's own "
            "network",
            remedy="set `network`, in which it gets no public IP address, or set internet=True to allow internet "
            "access",
            path=("internet",),
        )
    if has_network and notebook.internet and network_internet is InternetAccess.NONE:
        yield notebook.wrong(
            "internet",
            SageMakerCode.NOTEBOOK_INTERNET,
            "the network has no internet access, and this setting bypasses that: data could leave through the notebook",
            "remove `internet`, or give the network a NAT gateway if it may have internet access",
        )


def check_pins(pins: Sequence[str]) -> Iterator[Problem]:
    """Return a problem for each of `pins` that is not a pip requirement with a version specifier."""
    for index, pin in enumerate(pins):
        if not is_unresolved(pin) and not _PIN.fullmatch(pin):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_PIN,
                message="this is not a version pin: a pin is a package name and a version specifier of pip",
                remedy="write e.g. `sagemaker<3`; write an empty list to pin nothing",
                path=("pins", index),
                value=pin,
            )


def check_name_prefixes(prefixes: Sequence[str]) -> Iterator[Problem]:
    """Return a problem for each of `prefixes` that no job's name can begin with, and for an empty one."""
    for index, prefix in enumerate(prefixes):
        if not is_unresolved(prefix) and not _PREFIX.fullmatch(prefix):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_PREFIX,
                message="no name of a job, model or endpoint can begin with this prefix"
                if prefix
                else "an empty prefix matches every job of the account",
                remedy="write letters, digits and hyphens, e.g. `my-team-`",
                path=("name_prefixes", index),
                value=prefix,
            )


PREFIX = "ml."
_FORM = re.compile(r"notebook-[a-z0-9]+-v[0-9]+")


def check_platform(platform: str) -> Iterator[Problem]:
    """Return a problem when no notebook instance can be created on `platform`.

    A platform made by `NotebookPlatform.of` passes when its form is right and it has not ended: it may be newer than
    the catalog.
    """
    facts = notebook_facts()
    known = facts.platforms.get(platform)
    if is_unresolved(platform) or (known is not None and known.ended is None):
        return
    living = ", ".join(facts.living_platforms)
    if known is not None:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_PLATFORM_RETIRED,
            message=f"this platform is retired: since {known.ended} SageMaker creates no notebook instances on it",
            remedy=f"write `{known.successor}`",
            path=("platform",),
            value=str(platform),
            allowed=living,
        )
        return
    if not isinstance(platform, NotebookPlatform) or not _FORM.fullmatch(platform):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_PLATFORM,
            message="unknown platform of notebook instances",
            remedy=did_you_mean(platform, facts.living_platforms, otherwise=f"write `{facts.default_platform}`"),
            path=("platform",),
            value=str(platform),
            allowed=living,
        )


def check_notebook_instance_type(name: str) -> Iterator[Problem]:
    """Return a problem when no supported platform of notebook instances runs on the instance type `name`."""
    facts = notebook_facts()
    if is_unresolved(name) or name in facts.instance_type_names:
        return
    bare = name.strip().removeprefix(PREFIX)
    family = bare.casefold().partition(".")[0]
    if family in facts.retired_families:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            message=f"no supported platform of notebook instances runs on {family}",
            remedy=f"write `{facts.retired_families[family]}`",
            path=("instance_type",),
            value=name,
            allowed="families " + ", ".join(sorted(facts.instance_types)),
        )
        return
    sizes = facts.instance_types.get(family, ())
    yield Problem(
        code=SageMakerCode.INSTANCE_UNKNOWN,
        message=_fault(name, bare),
        remedy=did_you_mean(
            PREFIX + bare,
            facts.instance_type_names,
            otherwise=f"write `{facts.default_instance_type}`, or another instance type",
        ),
        path=("instance_type",),
        value=name,
        allowed=", ".join(f"{PREFIX}{family}.{each}" for each in sizes)
        or "families " + ", ".join(sorted(facts.instance_types)),
    )


def _fault(name: str, bare: str) -> str:
    if PREFIX + bare in notebook_facts().instance_type_names:
        return "this is the instance type's name in EC2; names in SageMaker begin with 'ml.'"
    return "SageMaker offers no notebook instances of this type"


_URL = re.compile(r"https://[^/\s@\[\]]+/\S{3,1016}")
_CREDENTIALS = re.compile(r"\w+://[^/]*@")
_BRANCH = re.compile(r"[^ ~^:?*\[]{1,1024}")
_CODE_COMMIT = re.compile(r"\w+://git-codecommit(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?(?:[:/].*)?")


def check_repositories(
    repositories: Sequence[GitRepository], network_internet: InternetAccess | None
) -> Iterator[Problem]:
    """Return a problem for each of `repositories` that the notebook cannot clone, and for too many of them."""
    most = notebook_facts().additional_repositories_max + 1
    if len(repositories) > most:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORIES,
            message=f"a notebook instance can have at most {most} repositories, and these are {len(repositories)}",
            remedy="remove the others, and clone them in a terminal of the notebook",
            path=("repositories", most),
            value=repositories[most].url,
            allowed=f"1 default repository, in which JupyterLab opens, and {most - 1} additional ones",
        )
    folders: dict[str, int] = {}
    for index, repository in enumerate(repositories):
        found = [*_check_url(repository, network_internet), *_check_branch(repository.branch)]
        if not found and not is_unresolved(repository.url):
            found = list(_check_folder(repository.url, index, folders))
        yield from (problem.under("repositories", index) for problem in found)


def is_code_commit(url: str) -> bool:
    """Return whether `url` is of AWS CodeCommit, which a network without internet can reach by a VPC endpoint."""
    return _CODE_COMMIT.fullmatch(url) is not None


def _check_url(repository: GitRepository, network_internet: InternetAccess | None) -> Iterator[Problem]:
    url = repository.url
    if is_unresolved(url):
        return
    if _CREDENTIALS.match(url):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="the URL contains a user name or password, which would be readable in the CloudFormation template",
            remedy="store both in a Secrets Manager secret, {'username': …, 'password': …}, and write its ARN",
            path=("url",),
        )
    elif not _URL.fullmatch(url) or len(url) > notebook_facts().repository_url_max:
        yield repository.wrong(
            "url",
            SageMakerCode.NOTEBOOK_REPOSITORY,
            "a notebook instance cannot clone from this URL",
            "write the HTTPS URL of the repository, not the SSH one",
            allowed="https://<host>/<path>, e.g. https://github.com/aws-samples/sagemaker-distributed-training.git",
        )
    elif network_internet is InternetAccess.NONE and not is_code_commit(url):
        yield repository.wrong(
            "url",
            SageMakerCode.NOTEBOOK_REPOSITORY,
            f"the notebook cannot reach {urlsplit(url).hostname}: its network has no internet access",
            "mirror the repository in AWS CodeCommit and add the VPC endpoint git-codecommit to the network, or "
            "give the network a NAT gateway",
        )


def _check_branch(branch: str | None) -> Iterator[Problem]:
    if branch is not None and not is_unresolved(branch) and not _BRANCH.fullmatch(branch):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="this is not a valid name of a Git branch",
            remedy="write the branch's name as `git branch` shows it",
            path=("branch",),
            value=branch,
        )


def _check_folder(url: str, index: int, folders: dict[str, int]) -> Iterator[Problem]:
    """Two repositories with the same name would be cloned into the same folder."""
    folder = urlsplit(url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if folder in folders:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORIES,
            message=f"another repository is already cloned into the folder {folder}",
            remedy="remove one of them, and clone it in a terminal of the notebook",
            path=("url",),
            value=url,
        )
    folders.setdefault(folder, index)


def notebook_claim(owner: str, *, availability_zone_id: str | None) -> AddressClaim:
    """Return the claim of one network interface with one IP address (source: CreateNotebookInstance)."""
    return AddressClaim(
        owner=owner,
        what="notebook instance",
        count=1,
        addresses_each=1,
        availability_zone_id=availability_zone_id,
    )


_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")
_TOKEN_BYTES = 128
"""Assumed length of a value that is resolved at deployment: a bucket name has at most 63 characters, an ARN with such
a name about 120."""


def check_script_size(script: str, most: int, code: AnyCode) -> list[Problem]:
    """Return a problem when `script`, in base64, has more than `most` characters."""
    size = len(_TOKEN.sub("x" * _TOKEN_BYTES, script).encode())
    characters = -(-size // 3) * 4
    if characters <= most:
        return []
    return [
        Problem(
            code=code,
            message=f"the lifecycle script would have {characters} characters in base64",
            remedy="list fewer clusters and shorter pins, and move the rest to a bucket or a repository",
            path=("lifecycle_script",),
            value=characters,
            allowed=f"up to {most}",
        )
    ]


_CLUSTER = Form(
    wanted="a cluster construct of llm-fleet",
    has=("grants",),
    remedy="write clusters=[cluster], with a HyperPodCluster, a ParallelCluster, or what their from_… methods return",
)
_SEVERAL = Form(wanted="a list of clusters", types=(list, tuple), remedy="write clusters=[cluster]")


def check_reachable(clusters: Any) -> list[Problem]:
    """Return a problem for each of `clusters` that is not a cluster, below `clusters`."""
    problems = check_form(clusters, _SEVERAL, "clusters")
    if problems:
        return problems
    return [problem for index, one in enumerate(clusters) for problem in check_form(one, _CLUSTER, "clusters", index)]


def check_reached_names(names: Sequence[str], *, known: Collection[str]) -> Iterator[Problem]:
    """Return a problem for each of `names` that is not a key of the fleet's `clusters`, or is repeated."""
    yield from (problem for index, name in enumerate(names) for problem in _check_name(name, index, names, known))


def _check_name(name: str, index: int, names: Sequence[str], known: Collection[str]) -> Iterator[Problem]:
    if name in names[:index]:
        yield Problem(
            code=Code.CONTRADICTION,
            message="this cluster is listed twice",
            remedy="remove it here",
            path=("clusters", index),
            value=name,
        )
        return
    if name not in known:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="the fleet has no cluster of this name",
            remedy=did_you_mean(
                name, known, otherwise="write a key of `clusters`" if known else "remove it: the fleet has no clusters"
            ),
            path=("clusters", index),
            value=name,
            allowed=", ".join(sorted(known)),
        )
