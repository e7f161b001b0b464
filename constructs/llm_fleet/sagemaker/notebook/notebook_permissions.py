"""What a notebook instance may do about itself: look at itself, stop itself, write its log, clone its repositories."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.rules.sagemaker.notebook_repositories import is_code_commit
from llm_fleet.sagemaker.notebook.git_repository import GitRepository

_CODE_COMMIT = re.compile(r"/v1/repos/(?P<name>[^/]+)/?")


def itself(place: Place, name: str, *, stops: bool) -> tuple[Permission, ...]:
    """`stops`: whether it stops itself when it is idle."""
    actions = ("sagemaker:DescribeNotebookInstance", *(("sagemaker:StopNotebookInstance",) if stops else ()))
    # SageMaker writes the name of an instance into its ARN in small letters, as those of endpoints.
    # assumption: sagemaker-arns-in-small-letters
    names = dict.fromkeys((name, name.lower()))
    group = place.arn("logs", f"log-group:{notebook_facts().log_group}")
    return (
        Permission(
            sid="Itself",
            actions=actions,
            resources=tuple(place.arn("sagemaker", f"notebook-instance/{each}") for each in names),
            reason="the SDK asks for the instance's role" + ("; idle, it stops itself" if stops else ""),
        ),
        Permission(
            sid="ItsLogGroup",
            actions=("logs:CreateLogGroup", "logs:DescribeLogStreams"),
            # Policies have ":*" after a group (CloudWatch Logs user guide), its service reference has not.
            resources=(group, f"{group}:*"),
            reason="the first notebook instance of an account makes the group of all; who writes looks for its stream",
        ),
        Permission(
            sid="ItsLog",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{group}:log-stream:{name}/*",),
            reason="Jupyter, the lifecycle script and what stops it when idle write streams that begin with its name",
        ),
    )


def repositories(place: Place, cloned: Sequence[GitRepository]) -> tuple[Permission, ...]:
    """Read what repositories ask for."""
    secrets = tuple(dict.fromkeys(one.secret_arn for one in cloned if one.secret_arn is not None))
    keys = tuple(dict.fromkeys(one.secret_key_arn for one in cloned if one.secret_key_arn is not None))
    code_commit = tuple(
        Permission(
            sid=f"Repository{index}",
            actions=("codecommit:GitPull", "codecommit:GitPush"),
            resources=(arn,),
            reason="it is cloned at the start, and work is pushed to it",
        )
        for index, one in enumerate(cloned)
        if (arn := _code_commit_arn(place, one.url)) is not None
    )
    of_secrets = Permission(
        sid="RepositorySecrets",
        actions=("secretsmanager:GetSecretValue",),
        resources=secrets,
        reason="user name and password of repositories that not everybody may read",
    )
    of_keys = Permission(
        sid="RepositorySecretKeys",
        actions=("kms:Decrypt",),
        resources=keys,
        reason="the secrets are encrypted with keys of their own",
    )
    return (*code_commit, *((of_secrets,) if secrets else ()), *((of_keys,) if keys else ()))


def _code_commit_arn(place: Place, url: str) -> str | None:
    found = _CODE_COMMIT.fullmatch(urlsplit(url).path)
    return place.arn("codecommit", found["name"]) if found and is_code_commit(url) else None
