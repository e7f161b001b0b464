"""What a notebook instance runs on: platform and instance type."""

import re

from llm_fleet.catalog.notebook import NotebookPlatform, notebook_facts
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved

PREFIX = "ml."
_FORM = re.compile(r"notebook-[a-z0-9]+-v[0-9]+")


def check_platform(platform: str) -> list[Problem]:
    """Return whether no instance can be made on `platform`.

    One made by `NotebookPlatform.of` passes when it has the form of one and has not ended: its maker knows better.
    """
    facts = notebook_facts()
    known = facts.platforms.get(platform)
    if is_unresolved(platform) or (known is not None and known.ended is None):
        return []
    living = ", ".join(facts.living_platforms)
    if known is not None:
        return [
            Problem(
                code=SageMakerCode.NOTEBOOK_PLATFORM_RETIRED,
                message=f"this platform has ended: since {known.ended} no notebook instance can be made on it",
                remedy=f"write {known.successor!r}",
                path=("platform",),
                value=str(platform),
                allowed=living,
            )
        ]
    if isinstance(platform, NotebookPlatform) and _FORM.fullmatch(platform):
        return []
    return [
        Problem(
            code=SageMakerCode.NOTEBOOK_PLATFORM,
            message="SageMaker has no platform of this name",
            remedy=did_you_mean(platform, facts.living_platforms, otherwise=f"write {facts.default_platform!r}"),
            path=("platform",),
            value=str(platform),
            allowed=living,
        )
    ]


def check_notebook_instance_type(name: str) -> list[Problem]:
    """Return whether a notebook cannot run on `name`: not offered, or not by any living platform."""
    facts = notebook_facts()
    if is_unresolved(name) or name in facts.instance_type_names:
        return []
    bare = name.strip().removeprefix(PREFIX)
    family = bare.casefold().partition(".")[0]
    if family in facts.retired_families:
        return [
            Problem(
                code=SageMakerCode.INSTANCE_RETIRED,
                message=f"no living platform of notebook instances runs on {family}",
                remedy=f"write {facts.retired_families[family]!r}",
                path=("instance_type",),
                value=name,
                allowed="families " + ", ".join(sorted(facts.instance_types)),
            )
        ]
    sizes = facts.instance_types.get(family, ())
    return [
        Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            message=_fault(name, bare),
            remedy=did_you_mean(
                PREFIX + bare,
                facts.instance_type_names,
                otherwise=f"write {facts.default_instance_type!r}, or another one",
            ),
            path=("instance_type",),
            value=name,
            allowed=", ".join(f"{PREFIX}{family}.{each}" for each in sizes)
            or "families " + ", ".join(sorted(facts.instance_types)),
        )
    ]


def _fault(name: str, bare: str) -> str:
    if PREFIX + bare in notebook_facts().instance_type_names:
        return "this is EC2's name of the instance type; SageMaker's begins with 'ml.'"
    return "SageMaker offers no notebook instance of this type"
