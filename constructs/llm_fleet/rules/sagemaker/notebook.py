"""A notebook instance as a whole."""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook_host import check_notebook_instance_type, check_platform
from llm_fleet.rules.sagemaker.notebook_protocols import NotebookLike
from llm_fleet.rules.sagemaker.notebook_repositories import check_repositories
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved

_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.!+*_-]*"
_PIN = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*{_VERSION}(?:\s*,\s*{_VERSION})*")
_PREFIX = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]*")


def check_notebook(notebook: NotebookLike) -> list[Problem]:
    """Return all that SageMaker would refuse of `notebook`, or that nobody asked for, by its attributes."""
    facts = notebook_facts()
    return [
        *check_notebook_name(notebook.notebook_name),
        *check_notebook_instance_type(notebook.instance_type),
        *check_platform(notebook.platform),
        *check_number(
            notebook.volume_gib,
            Limit(minimum=facts.volume_gib.min, maximum=facts.volume_gib.max),
            SageMakerCode.NOTEBOOK_VOLUME,
            "volume_gib",
            what="volume of a notebook instance, in GiB,",
        ),
        *check_number(
            notebook.idle_minutes,
            Limit(minimum=facts.idle_minutes.min, maximum=facts.idle_minutes.max),
            SageMakerCode.NOTEBOOK_IDLE,
            "idle_minutes",
            what="time of idleness, in minutes,",
            remedy=f"write a number of minutes from {facts.idle_minutes.min} on, or None for an instance that is "
            "never stopped",
        ),
        *check_internet(notebook),
        *check_repositories(notebook),
        *check_pins(notebook.pins),
        *check_name_prefixes(notebook.name_prefixes),
    ]


def check_notebook_name(name: str | None) -> list[Problem]:
    """Return what SageMaker refuses of the name."""
    limit = Limit(minimum=1, maximum=notebook_facts().name_max)
    return check_hyphenated_name(name, limit, SageMakerCode.NAME, "notebook_name", what="name of a notebook instance")


def check_internet(notebook: NotebookLike) -> Iterator[Problem]:
    """Return an instance that would be on the internet without having been asked to, or around a closed network."""
    if not notebook.has_network and not notebook.internet:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_INTERNET,
            message="without a network this notebook would be on the internet by SageMaker's own network",
            remedy="give it the network, where it has no public address, or internet=True when that is meant",
            path=("internet",),
        )
    if notebook.has_network and notebook.internet and notebook.network_internet is InternetAccess.NONE:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_INTERNET,
            message="the network is closed, and this opens a way around it: data could leave through the notebook",
            remedy="leave `internet` out, or give the network a NAT gateway when it need not be closed",
            path=("internet",),
            value=True,
        )


def check_pins(pins: Sequence[str]) -> Iterator[Problem]:
    """Return each of `pins` that pip would not read as a package with versions."""
    for index, pin in enumerate(pins):
        if not is_unresolved(pin) and not _PIN.fullmatch(pin):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_PIN,
                message="this pins no package: a pin is a package's name and the versions of it that pip may take",
                remedy="write e.g. 'sagemaker<3'; an empty list pins nothing",
                path=("pins", index),
                value=pin,
            )


def check_name_prefixes(prefixes: Sequence[str]) -> Iterator[Problem]:
    """Return each of `prefixes` with which no name of a job begins, and an empty one, which is that of every job."""
    for index, prefix in enumerate(prefixes):
        if not is_unresolved(prefix) and not _PREFIX.fullmatch(prefix):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_PREFIX,
                message="names of jobs, models and endpoints do not begin like this"
                if prefix
                else "an empty prefix is that of every job of the account",
                remedy="write letters, digits and hyphens, e.g. 'my-team-'",
                path=("name_prefixes", index),
                value=prefix,
            )
