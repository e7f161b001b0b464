"""Everything that can be told of a domain of Studio by itself."""

from collections.abc import Sequence

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.rules.bare_text import check_not_bare
from llm_fleet.rules.codes import Code
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook import check_name_prefixes, check_pins
from llm_fleet.rules.sagemaker.studio_instances import check_studio_instances
from llm_fleet.rules.sagemaker.studio_protocols import StudioLike
from llm_fleet.rules.sagemaker.studio_users import check_studio_users
from llm_fleet.rules.tokens import is_unresolved


def check_studio(studio: StudioLike) -> list[Problem]:
    """Return what is wrong with `studio`, by attribute names; where it stands is for `check_studio_place`."""
    facts = studio_facts()
    return [
        *check_hyphenated_name(
            studio.domain_name, facts.domain_name, SageMakerCode.NAME, "domain_name", what="domain's name"
        ),
        *(problem.under("users") for problem in check_studio_users(studio.users, sign_in=studio.sign_in)),
        *check_studio_instances(studio.instance_type, studio.allowed_instance_types),
        *check_number(
            studio.idle_minutes,
            facts.idle_minutes,
            SageMakerCode.STUDIO_IDLE,
            "idle_minutes",
            what="time of idleness, in minutes,",
        ),
        *_check_volumes(studio),
        *_check_repositories(studio.code_repositories),
        *check_pins(studio.pins),
        *check_name_prefixes(studio.name_prefixes),
    ]


def _check_volumes(studio: StudioLike) -> list[Problem]:
    limit = studio_facts().volume_gib
    sizes = {"volume_gib": studio.volume_gib, "maximum_volume_gib": studio.maximum_volume_gib}
    problems = [
        problem
        for name, size in sizes.items()
        for problem in check_number(
            size, limit, SageMakerCode.STUDIO_VOLUME, name, what="volume of a space of Studio, in GiB,"
        )
    ]
    if not problems and not is_unresolved(list(sizes.values())) and studio.volume_gib > studio.maximum_volume_gib:
        problems.append(
            Problem(
                code=SageMakerCode.STUDIO_VOLUME,
                message=f"a new space would have more than the {studio.maximum_volume_gib} GiB that one may have",
                remedy=f"write at most {studio.maximum_volume_gib} GiB, or allow more",
                path=("volume_gib",),
                value=studio.volume_gib,
            )
        )
    return problems


def _check_repositories(urls: Sequence[str]) -> list[Problem]:
    bare = check_not_bare(urls, Code.WRONG_TYPE, "code_repositories")
    if bare:
        return bare
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
