"""Images of training environments: their URIs, whether nodes reach them, and exports of models in them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.model_server import image_account, image_regions, model_exports, model_servers
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.training_job import smp_images
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.environment_place import TrainingPlace, neuron_families
from llm_fleet.rules.training.packages import PlannedEnvironment, families_of, plain
from llm_fleet.rules.training.smp_run import check_smp_image, check_smp_place
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.training_runtime import (
    ContainerEnvironment,
    EnvironmentKind,
    EnvironmentUse,
    ServerEnvironment,
    TrainingRuntime,
    packages_of,
)
from llm_fleet.spec.unknown import UNKNOWN

_SCHEME = "docker://"
_IMAGE = re.compile(
    r"(?:[a-z0-9][a-z0-9.-]*(?:\.[a-z0-9-]+|:[0-9]+)(?::[0-9]+)?[/#])?"
    r"[a-z0-9]+(?:(?:\.|_{1,2}|-+|/)[a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
)
"""`<registry>/<repository>:<tag>`; a registry, after which Enroot writes `#`, has a dot or a port."""
_MOVED = frozenset({"latest", "stable", "main", "master", "nightly", "edge", "dev"})
_ECR = ".dkr.ecr."


def image_of(planned: PlannedEnvironment, place: TrainingPlace) -> str | None:
    """Return the image of a container environment, without Enroot's scheme; `None` for another kind."""
    if planned.kind is EnvironmentKind.SMP:
        image = smp_images().get(planned.release or "")
        return None if image is None or place.region is None else image.uri(place.region)
    if isinstance(planned.given, ServerEnvironment):
        return _of_server(planned.given.server_kind, place.region)
    if isinstance(planned.given, ContainerEnvironment):
        return planned.given.image.removeprefix(_SCHEME).replace("#", "/", 1)
    return None


def _of_server(kind: str, region: str | None) -> str | None:
    """Return the image of a service in `region`; `None` when there is none, or the region is unknown."""
    facts, known = model_servers().get(kind), regions().get(region or "")
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
    """Return the ARN of the private ECR repository of `image`; `None` for another registry."""
    registry, _, rest = image.partition("/")
    account, ecr, domain = registry.partition(_ECR)
    if not ecr:
        return None
    region = domain.split(".amazonaws.")[0]
    return f"arn:{partition}:ecr:{region}:{account}:repository/{rest.rpartition(':')[0]}"


def check_image(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return a problem when the image is invalid, or its tag is one that is moved to other images."""
    if environment.kind is EnvironmentKind.SMP:
        return list(_smp(environment, place))
    if environment.kind is not EnvironmentKind.CONTAINER:
        return []
    image = image_of(environment, place) or ""
    tag = image.rpartition(":")[2]
    if is_unresolved(tag):
        return [_image_problem("the tag of this image is a CDK token", "write the tag itself", image)]
    if "@" in image:
        return [_image_problem("Enroot imports images by tag, not by digest", "write `<repository>:<tag>`", image)]
    if not is_unresolved(image) and not _IMAGE.fullmatch(image):
        remedy = "write <registry>/<repository>:<tag>, e.g. public.ecr.aws/docker/library/python:3.11.9"
        return [_image_problem("this is not a container image with a tag", remedy, image)]
    if tag in _MOVED:
        remedy = "write a tag that never changes, such as a version: an environment must keep its content"
        return [_image_problem(f"the tag {tag} is moved to newer images", remedy, image)]
    return []


def _smp(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    found = check_smp_image(environment.release or "")
    yield from (replace(each, path=("release",)) for each in found)
    messages: set[str] = set()
    for group in place.compute_groups:
        if group.name not in environment.groups:
            continue
        for name in group.instance_types:
            for problem in check_smp_place(name, place.region):
                if problem.message not in messages:
                    messages.add(problem.message)
                    yield replace(problem, path=("groups",))


def _image_problem(message: str, remedy: str, image: str) -> Problem:
    return Problem(code=Code.TRAINING_IMAGE, message=message, remedy=remedy, path=("image",), value=image)


def check_reached(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    """Return a problem when nodes without internet access would download packages or images from the internet."""
    if place.internet:
        return
    image = image_of(environment, place)
    if image is None:
        if environment.wanted and place.source == "vendor":
            yield Problem(
                code=Code.TRAINING_CLOSED,
                message="the nodes have no internet access, and would download their packages from the vendors",
                remedy="fill a mirror with `llm-fleet mirror build --to s3://…`, and set `downloads.mirror` to it",
                path=("packages",) if packages_of(environment.given) else (),
            )
        return
    repository = ecr_repository(image, "aws")
    region = repository.split(":")[3] if repository is not None else None
    if repository is None or (region != place.region and not is_unresolved(region) and not is_unresolved(place.region)):
        yield Problem(
            code=Code.TRAINING_CLOSED,
            message="the nodes have no internet access, and reach only private ECR repositories in their region",
            remedy="copy the image to a private ECR repository in the region, and write its URI",
            path=("image",),
            value=image,
        )


def check_hub_reached(runtime: TrainingRuntime, place: TrainingPlace) -> Iterator[Problem]:
    """Return a problem when a token for the Hugging Face Hub is set in a network without internet access."""
    if runtime.hub_token_secret is not None and not place.internet:
        yield Problem(
            code=Code.TRAINING_CLOSED,
            message="the nodes have no internet access, and so cannot reach the Hugging Face Hub",
            remedy="remove the token, and copy models and data to S3",
            path=("hub_token_secret",),
        )


_EXPORTER = "optimum-neuron"


def check_exporting(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return why models cannot be exported in `environment`; nothing for an environment that is not for exports."""
    if isinstance(environment.given, ServerEnvironment):
        found = list(_server(environment, environment.given.server_kind, place))
    elif environment.use == EnvironmentUse.EXPORT:
        found = list(_exporter(environment))
    else:
        return []
    return found or list(_groups(environment, place))


def _server(environment: PlannedEnvironment, kind: ServerKind, place: TrainingPlace) -> Iterator[Problem]:
    if kind not in model_exports():
        yield _export_problem(
            "the image of this server has no exporter: the server compiles models when it starts",
            "remove this environment: an export for this server needs none",
            "server_kind",
            str(kind),
            allowed=", ".join(model_exports()),
        )
    elif environment.use != EnvironmentUse.EXPORT:
        yield _export_problem(
            "jobs cannot train in the image of a server", "remove `use`", "use", environment.use.value, allowed=""
        )
    elif place.region is not UNKNOWN and image_of(environment, place) is None:
        facts = model_servers()[kind]
        yield _export_problem(
            f"the image of {facts.title} is not offered in {place.region}"
            if place.region in regions()
            else "the registry of this image depends on the region, which is a CDK token",
            "copy the image to a private ECR repository in the region, and use it with `kind: container` and `use: "
            "export`",
            "server_kind",
            kind.value,
            allowed=", ".join(image_regions(facts.accounts)) if facts.accounts else "",
        )


def _exporter(environment: PlannedEnvironment) -> Iterator[Problem]:
    """Return a problem when there is no exporter; the user's own container image is not checked."""
    if environment.kind is EnvironmentKind.SMP:
        yield _export_problem("the image of SMP v2 is for GPUs, and has no exporter", "remove `use`", "use", "export")
    elif environment.kind is not EnvironmentKind.CONTAINER and _EXPORTER not in {
        plain(each.name) for each in environment.wanted
    }:
        yield _export_problem(
            f"this environment does not contain {_EXPORTER}, which exports models",
            f"use the server's own image (`kind: {EnvironmentKind.SERVER.value}`), or add {_EXPORTER} to `packages`, "
            "with the compiler version of the server's image",
            "use",
            "export",
        )


def _groups(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    known = families_of(environment.given, environment.stack)
    groups = {group.name: group for group in place.compute_groups}
    for index, name in enumerate(environment.given.groups or ()):
        wrong = _wrong(groups[name], known) if name in groups else None
        if wrong is not None:
            yield Problem(
                code=Code.TRAINING_EXPORT,
                message=wrong,
                remedy="write groups with Neuron devices that it supports, or remove `groups` to use all of them",
                path=("groups", index),
                value=name,
                allowed=", ".join(each.name for each in groups.values() if _wrong(each, known) is None),
            )


def _wrong(group: NodeGroup, known: tuple[str, ...] | None) -> str | None:
    families = neuron_families(group)
    if not families:
        return "an export needs Neuron devices, and this group has none"
    if known is not None and not set(families) <= set(known):
        return f"this environment supports {' and '.join(known)}, and this group has {' and '.join(families)}"
    return None


def _export_problem(message: str, remedy: str, path: str, value: str, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.TRAINING_EXPORT, message=message, remedy=remedy, path=(path,), value=value, allowed=allowed
    )
