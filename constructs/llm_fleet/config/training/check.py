"""What clusters of a fleet file carry for training jobs, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.parallelcluster import ParallelClusterConfig
from llm_fleet.config.training.place import training_place_of, with_lock
from llm_fleet.config.training.training import TrainingConfig
from llm_fleet.config.training.view import TrainingView
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.check_environment import check_training
from llm_fleet.rules.training.environment_place import TrainingPlace


def check_training_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the training runtimes of `fleet`, whatever its lock files hold, by attribute names."""
    for name, cluster in fleet.clusters.items():
        if cluster.training is not None:
            found = _check(cluster.training, training_place_of(fleet, cluster))
            yield from (problem.under("clusters", name, "training") for problem in found)


def check_training_files(fleet: Fleet, cluster: HyperPodConfig | ParallelClusterConfig) -> Iterator[Problem]:
    """Return what else is wrong with the runtime of `cluster`, once its lock file is read, below the cluster."""
    if cluster.training is None:
        return
    place = training_place_of(fleet, cluster)
    told = _check(cluster.training, place)
    found = _check(cluster.training, with_lock(place, cluster))
    yield from (problem.under("training") for problem in found if problem not in told)


def _check(config: TrainingConfig, place: TrainingPlace) -> list[Problem]:
    return [_in_file(problem, config) for problem in check_training(TrainingView(config=config), place)]


def _in_file(problem: Problem, config: TrainingConfig) -> Problem:
    """Return a problem where the file has it: environments stand under their names, which are their labels."""
    match problem.path:
        case ("environments", int(index), *rest):
            name = list(config.environments)[index]
            return replace(problem, path=("environments", name, *(part for part in rest if part != "label")))
        case _:
            return problem
