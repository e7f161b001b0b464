"""The notebook instances of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_bucket_keys import check_bucket_keys
from llm_fleet.config.sagemaker.notebook import NotebookConfig
from llm_fleet.rules.hyperpod.group_roles import check_tags
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.cluster_reach import check_reached_names
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook import check_notebook, is_code_commit
from llm_fleet.rules.terms import InternetAccess

_IN_FILE = (
    ("internet=True when that is meant", "write `internet: true` when that is meant"),
    ("give it the network, where it has no public address", "write a `network`, where it has no public address"),
    ("or None for an instance that is never stopped", "or `never`"),
)
"""What a stack of one's own would write, and what a fleet file says in its place."""
_GIT_ENDPOINT = "git-codecommit"


def check_notebooks(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the notebooks of `fleet`, by attribute names."""
    has_network, internet = fleet.network is not None, fleet.way_out
    for name, notebook in fleet.notebooks.items():
        judged = check_notebook(notebook.in_fleet(fleet.name), has_network=has_network, network_internet=internet)
        found = [
            *map(_in_file, judged),
            *check_bucket_keys(notebook.bucket_keys, known=fleet.storage.buckets),
            *_check_code_commit(notebook, fleet),
            *check_reached_names(notebook.clusters, known=fleet.clusters),
            *check_tags(notebook.tags),
        ]
        yield from (problem.under("notebooks", name) for problem in found)


def _in_file(problem: Problem) -> Problem:
    remedy = problem.remedy
    for ours, theirs in _IN_FILE:
        remedy = remedy.replace(ours, theirs)
    path = () if problem.path == ("name",) else problem.path
    return replace(problem, remedy=remedy, path=path)


def _check_code_commit(notebook: NotebookConfig, fleet: Fleet) -> Iterator[Problem]:
    """A closed network reaches CodeCommit by an endpoint that is there for nothing else."""
    network = fleet.network
    closed = fleet.way_out is InternetAccess.NONE
    if network is None or not closed or _GIT_ENDPOINT in network.endpoints:
        return
    for index, repository in enumerate(notebook.repositories):
        if is_code_commit(repository.url):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_REPOSITORY,
                message="the network is closed, and has no endpoint of CodeCommit's repositories",
                remedy=f"write `endpoints: [{_GIT_ENDPOINT}]` below `network`",
                path=("repositories", index, "url"),
                value=repository.url,
            )
            return
