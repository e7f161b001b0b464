"""Container images of training environments: as Docker writes them, and as Enroot does."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.model_server import image_account, model_servers
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.training_job import smp_images
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import PlannedEnvironment
from llm_fleet.rules.training.smp_place import check_smp_image, check_smp_place
from llm_fleet.rules.training.terms import EnvironmentKind

_SCHEME = "docker://"
_IMAGE = re.compile(
    r"(?:[a-z0-9][a-z0-9.-]*(?:\.[a-z0-9-]+|:[0-9]+)(?::[0-9]+)?[/#])?"
    r"[a-z0-9]+(?:(?:\.|_{1,2}|-+|/)[a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
)
"""`<registry>/<repository>:<tag>`; the registry after which Enroot writes `#` has a dot or a port."""
_MOVED = frozenset({"latest", "stable", "main", "master", "nightly", "edge", "dev"})
_ECR = ".dkr.ecr."


def image_of(planned: PlannedEnvironment, place: TrainingPlace) -> str | None:
    """Return the image of an environment that is a container, without Enroot's scheme; `None` for another one."""
    if planned.kind is EnvironmentKind.SMP:
        image = smp_images().get(planned.release or "")
        return None if image is None or place.region is None else image.uri(place.region)
    if planned.kind is EnvironmentKind.SERVER:
        return _of_server(planned.given.server_kind, place.region)
    image = planned.given.image
    return None if image is None else image.removeprefix(_SCHEME).replace("#", "/", 1)


def _of_server(kind: str | None, region: str | None) -> str | None:
    """Return the image that a service in `region` runs; `None` where there is none, or the region is unknown."""
    facts, known = model_servers().get(kind or ""), regions().get(region or "")
    if facts is None or known is None:
        return None
    account = image_account(facts.accounts, known.name) if facts.accounts else ""
    suffix = "amazonaws.com.cn" if known.partition == "aws-cn" else "amazonaws.com"
    image = f"{facts.repository}:{facts.tag}"
    return None if account is None else image.format(account=account, region=known.name, suffix=suffix)


def enroot_image(image: str) -> str:
    """Return `image` as Enroot imports it: `docker://<registry>#<repository>:<tag>`; its registry may be a token."""
    first, slash, rest = image.partition("/")
    is_registry = bool(slash) and ("." in first or ":" in first or is_unresolved(first))
    return f"{_SCHEME}{first}#{rest}" if is_registry else f"{_SCHEME}{image}"


def ecr_repository(image: str, partition: str) -> str | None:
    """Return the ARN of the private ECR repository that `image` is in; `None` for another registry."""
    registry, _, rest = image.partition("/")
    account, ecr, domain = registry.partition(_ECR)
    if not ecr:
        return None
    region = domain.split(".amazonaws.")[0]
    return f"arn:{partition}:ecr:{region}:{account}:repository/{rest.rpartition(':')[0]}"


def check_image(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return why the image of an environment is none, or not one that stays what it is."""
    if environment.kind is EnvironmentKind.SMP:
        return list(_smp(environment, place))
    if environment.kind is not EnvironmentKind.CONTAINER:
        return []
    image = image_of(environment, place) or ""
    tag = image.rpartition(":")[2]
    if is_unresolved(tag):
        return [_problem("the tag of this image is only known when it is deployed", "write a tag", image)]
    if "@" in image:
        return [_problem("Enroot imports images by their tag, not by a digest", "write `<repository>:<tag>`", image)]
    if not is_unresolved(image) and not _IMAGE.fullmatch(image):
        remedy = "write <registry>/<repository>:<tag>, e.g. public.ecr.aws/docker/library/python:3.11.9"
        return [_problem("this is no image with a tag", remedy, image)]
    if tag in _MOVED:
        remedy = "write a tag that is never moved: what an environment holds must not change under its name"
        return [_problem(f"{tag} is another image tomorrow", remedy, image)]
    return []


def _smp(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    found = check_smp_image(environment.release or "")
    yield from (replace(each, path=("release",)) for each in found)
    told: set[str] = set()
    for group in place.compute_groups:
        if group.name not in environment.groups:
            continue
        for name in group.instance_types:
            for problem in check_smp_place(name, place.region):
                if problem.message not in told:
                    told.add(problem.message)
                    yield replace(problem, path=("groups",))


def _problem(message: str, remedy: str, image: str) -> Problem:
    return Problem(code=Code.TRAINING_IMAGE, message=message, remedy=remedy, path=("image",), value=image)
