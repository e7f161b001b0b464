"""What to write, in the words of the fleet file: rules name the attributes, and the makers, of the constructs."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.services.alarms import AlarmsConfig
from llm_fleet.config.services.front import FrontConfig
from llm_fleet.config.services.hosts import HostsConfig
from llm_fleet.config.services.jwt import JwtConfig
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.scaling import ScalingConfig
from llm_fleet.config.services.server import ServerConfig
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel

_MODELS: tuple[type[FleetModel], ...] = (
    NetworkConfig,
    AlarmsConfig,
    ServiceConfig,
    ServedModelConfig,
    ServerConfig,
    HostsConfig,
    ScalingConfig,
    FrontConfig,
    JwtConfig,
)
_MADE = (
    (re.compile(r"ModelShape\.from_config\('([^']*)'\)"), r"`config: \1`"),
    (re.compile(r"ModelShape\(…\)"), "`shape: {parameters: 8 B, …}`"),
    (re.compile(r"Model\.from_hub\('([^']*)'\)"), r"`hub: \1`"),
    (re.compile(r"Model\.in_image\('([^']*)'\)"), r"`image: \1`"),
    (re.compile(r"Model\.from_s3\('([^']*)'\)"), r"`s3: \1`"),
    (re.compile(r"\b(\w+)=(\d+)\b"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=False\b"), r"`\1: false`"),
    (re.compile(r"\b(\w+)=True\b"), r"`\1: true`"),
    (re.compile(r"\bmaximum (\d+)"), r"`max: \1`"),
    (re.compile(r"\bminimum (\d+)"), r"`min: \1`"),
    (re.compile(r"`maximum`"), "`max`"),
    (re.compile(r"`minimum`"), "`min`"),
    (re.compile(r"; in Python, Ec2InstanceType[^;]*"), ""),
    (re.compile(r"\bModelExport\b"), "`export`"),
    (re.compile(r"\bEc2Hosts\b"), "`hosts: ec2`"),
    (re.compile(r"\bManagedHosts\b"), "`hosts: managed-instances`"),
)
"""What a stack of one's own would write, and what a fleet file says in its place."""


def in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's words in its message, in what is allowed and in the remedy."""
    return replace(
        problem,
        message=_translated(problem.message),
        allowed=_translated(problem.allowed),
        remedy=_translated(problem.remedy),
    )


def _translated(text: str) -> str:
    for pattern, words in _MADE:
        text = pattern.sub(words, text)
    return _ATTRIBUTE.sub(lambda found: _KEYS[found[0]], text)


def _keys() -> Iterator[tuple[str, str]]:
    """Attributes whose keys are other words; only what no sentence has by chance."""
    for model in _MODELS:
        for attribute in (*model.model_fields, *model.written_as):
            if "_" in attribute and model.key_of(attribute) != attribute:
                yield attribute, model.key_of(attribute)


_KEYS = dict(_keys())
_ATTRIBUTE = re.compile(rf"\b({'|'.join(sorted(_KEYS, key=len, reverse=True))})\b")
