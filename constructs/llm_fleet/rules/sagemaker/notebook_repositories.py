"""The Git repositories of a notebook instance."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook_protocols import NotebookLike, RepositoryLike
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved

_URL = re.compile(r"https://[^/\s@\[\]]+/\S{3,1016}")
_CREDENTIALS = re.compile(r"\w+://[^/]*@")
_BRANCH = re.compile(r"[^ ~^:?*\[]{1,1024}")
_SECRET = re.compile(r"arn:aws[\w-]*:secretsmanager:[\w-]+:\d{12}:secret:\S+")
_CODE_COMMIT = re.compile(r"\w+://git-codecommit(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?(?:[:/].*)?")


def check_repositories(notebook: NotebookLike) -> Iterator[Problem]:
    """Return what cannot be cloned of the repositories, and what there is too much of."""
    repositories = notebook.repositories
    most = notebook_facts().additional_repositories_max + 1
    if len(repositories) > most:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORIES,
            message=f"a notebook instance takes {most} repositories, and these are {len(repositories)}",
            remedy="clone the others in a terminal of the notebook",
            path=("repositories", most),
            value=repositories[most].url,
            allowed=f"1 that JupyterLab opens in, and {most - 1} beside it",
        )
    folders: dict[str, int] = {}
    for index, repository in enumerate(repositories):
        found = [*_check_url(repository, notebook), *_check_access(repository)]
        if not found and not is_unresolved(repository.url):
            found = list(_check_folder(repository.url, index, folders))
        yield from (problem.under("repositories", index) for problem in found)


def is_code_commit(url: str) -> bool:
    """Return whether `url` is of AWS CodeCommit, which a closed network can have an endpoint for."""
    return _CODE_COMMIT.fullmatch(url) is not None


def _check_url(repository: RepositoryLike, notebook: NotebookLike) -> Iterator[Problem]:
    url = repository.url
    if is_unresolved(url):
        return
    if _CREDENTIALS.match(url):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="a user name or password in the address would stand in the template for everybody to read",
            remedy="put both into a secret of Secrets Manager, {'username': …, 'password': …}, and name its ARN",
            path=("url",),
        )
    elif not _URL.fullmatch(url) or len(url) > notebook_facts().repository_url_max:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="this is no address that a notebook instance clones from",
            remedy="write the address over https, not that over ssh",
            path=("url",),
            value=url,
            allowed="https://<host>/<path>, e.g. https://github.com/aws-samples/sagemaker-distributed-training.git",
        )
    elif notebook.network_internet is InternetAccess.NONE and not is_code_commit(url):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message=f"nothing leads to {urlsplit(url).hostname} out of a network without internet",
            remedy="mirror the repository in AWS CodeCommit, with the endpoint git-codecommit in the network, or "
            "give the network a NAT gateway",
            path=("url",),
            value=url,
        )


def _check_access(repository: RepositoryLike) -> Iterator[Problem]:
    branch, secret = repository.branch, repository.secret_arn
    if branch is not None and not is_unresolved(branch) and not _BRANCH.fullmatch(branch):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="Git has no branch of this name",
            remedy="write the branch's name as `git branch` tells it",
            path=("branch",),
            value=branch,
        )
    if secret is not None and not is_unresolved(secret) and not _SECRET.fullmatch(secret):
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORY,
            message="this is no ARN of a Secrets Manager secret",
            remedy="put user name and password into a secret, {'username': …, 'password': …}, and write its ARN",
            path=("secret_arn",),
            allowed="arn:aws:secretsmanager:<region>:<account>:secret:<name>",
        )


def _check_folder(url: str, index: int, folders: dict[str, int]) -> Iterator[Problem]:
    """Two repositories of one name would be cloned into one folder."""
    folder = urlsplit(url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if folder in folders:
        yield Problem(
            code=SageMakerCode.NOTEBOOK_REPOSITORIES,
            message=f"another repository is cloned into the folder {folder} already",
            remedy="leave one of them out, and clone it in a terminal of the notebook",
            path=("url",),
            value=url,
        )
    folders.setdefault(folder, index)
