"""Everything that can be wrong with what nodes carry for training jobs."""

from collections.abc import Iterator

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.compiled import check_compile_cache
from llm_fleet.rules.training.exporting import check_exporting
from llm_fleet.rules.training.folder import check_folder
from llm_fleet.rules.training.groups import check_groups, check_names
from llm_fleet.rules.training.image import check_image
from llm_fleet.rules.training.job_values import check_processes, check_secret, check_variables
from llm_fleet.rules.training.packages import check_locked, check_packages
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import plan
from llm_fleet.rules.training.protocols import RuntimeLike
from llm_fleet.rules.training.reached import check_hub_reached, check_reached
from llm_fleet.rules.training.stack import check_stack


def check_training(runtime: RuntimeLike, place: TrainingPlace) -> list[Problem]:
    """Return everything that is wrong with `runtime` in a cluster like `place`, by its attributes and indices."""
    return [
        *check_folder(runtime, place),
        *_environments(runtime, place),
        *check_processes(runtime, place),
        *check_variables(runtime.variables),
        *check_secret(runtime.hub_token_secret_arn, place.region),
        *check_hub_reached(runtime, place),
        *check_compile_cache(runtime.compile_cache, place),
    ]


def _environments(runtime: RuntimeLike, place: TrainingPlace) -> Iterator[Problem]:
    planned = [plan(environment, place) for environment in runtime.environments]
    yield from check_names(planned)
    yield from check_groups(planned, place)
    for index, environment in enumerate(planned):
        found = [
            *check_stack(environment, place),
            *check_image(environment, place),
            *check_packages(environment),
            *check_exporting(environment, place),
        ]
        # What is missing from the lock, and whether it is reached, follows from a stack that is not what was meant.
        found = found or [*check_locked(environment, place), *check_reached(environment, place)]
        yield from (problem.under("environments", index) for problem in found)
