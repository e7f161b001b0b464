"""The training runtime in the nodes' configuration, and the images that nodes pull for it."""

import hashlib
import json
import re
from typing import Any

from llm_fleet.rules.training.environment import plan_fabrics
from llm_fleet.rules.training.environment_place import TrainingPlace, folder_of, neuron_families
from llm_fleet.rules.training.image import ecr_repository, enroot_image, image_of
from llm_fleet.rules.training.packages import PlannedEnvironment, find, plan
from llm_fleet.spec.training_runtime import (
    CompileCache,
    CondaEnvironment,
    EnvironmentKind,
    ServerEnvironment,
    TrainingRuntime,
)


def image_repositories(runtime: TrainingRuntime | None, *, region: str | None, partition: str) -> tuple[str, ...]:
    """Return the ARNs of the private ECR repositories that the images of `runtime` are in, each once."""
    place = TrainingPlace(groups=(), region=region)
    images = [image_of(plan(each, place), place) for each in (runtime.environments if runtime else ())]
    found = [ecr_repository(image, partition) for image in images if image is not None]
    return tuple(dict.fromkeys(arn for arn in found if arn is not None))


_HASH_LENGTH = 12
_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")


def render_training(runtime: TrainingRuntime | None, place: TrainingPlace) -> dict[str, Any] | None:
    """Return the checked `runtime` in the form of the configuration of nodes of `place`."""
    folder = None if runtime is None else folder_of(runtime, place)
    if runtime is None or folder is None:
        return None
    environments = [plan(environment, place) for environment in runtime.environments]
    return {
        "folder": folder,
        "environments": [_environment(each, place) for each in environments],
        "fabrics": [
            {
                "name": fabric.name,
                "groups": list(fabric.groups),
                "processes": fabric.processes,
                "variables": [{"name": name, "value": value} for name, value in fabric.variables.items()],
            }
            for fabric in plan_fabrics(runtime, place, environments)
        ],
        "compile_cache": _compile_cache(runtime, place, folder),
        "hub_token_secret_arn": runtime.hub_token_secret_arn,
    }


def _environment(planned: PlannedEnvironment, place: TrainingPlace) -> dict[str, Any]:
    given = planned.given
    found = find(planned.wanted, place.files or (), kind=planned.archive_kind)
    image = image_of(planned, place)
    rendered = {
        "kind": planned.kind.on_node,
        "program": given.program if isinstance(given, CondaEnvironment) else _python(planned),
        "packages": [{"name": name, "version": version} for name, version in found.packages],
        "image": None if image is None else enroot_image(image),
    }
    checksums = sorted({f"{file['name']} {file['version']} {file['sha256']}" for file in found.files})
    # Only the registry of an image is resolved at deployment, not its content.
    content = {**rendered, "image": None if image is None else _TOKEN.sub("…", image), "checksums": checksums}
    return {
        "name": f"{_stem(planned, image)}-{_hash(content)}",
        "use": planned.use.value,
        "groups": list(planned.groups),
        **rendered,
    }


def _python(planned: PlannedEnvironment) -> str | None:
    return f"python{planned.python}" if planned.kind.on_node == "venv" else None


def _hash(content: dict[str, Any]) -> str:
    """Return a hash of everything that determines an environment's content, without the groups that use it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_HASH_LENGTH]


def _stem(planned: PlannedEnvironment, image: str | None) -> str:
    """Return the readable part of the name: the given name, otherwise the content."""
    if planned.given.name is not None:
        return planned.given.name
    if planned.kind is EnvironmentKind.NEURON:
        return f"{planned.stack}-{planned.release}"
    if planned.kind is EnvironmentKind.SMP:
        return f"smp-{planned.release}"
    if isinstance(planned.given, ServerEnvironment):
        return planned.given.server_kind
    last = (image or planned.kind.value).rsplit("/", 1)[-1]
    return re.sub(r"[^a-z0-9._-]+", "-", last.lower()).strip("-._") or planned.kind.value


def _compile_cache(runtime: TrainingRuntime, place: TrainingPlace, folder: str) -> dict[str, Any] | None:
    """Return it if a group has Neuron devices: only Neuron compiles in advance."""
    if not any(neuron_families(group) for group in place.compute_groups):
        return None
    given = runtime.compile_cache or CompileCache()
    return {"folder": f"{folder}/compile-cache", "max_age_days": given.max_age_days, "max_gib": given.max_gib}
