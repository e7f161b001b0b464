"""Tells from an image's name the repository in ECR that it is pulled from."""

import re

import aws_cdk as cdk

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.inference.server_process import ServerProcess
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.model_server import ServerKind

_PRIVATE = re.compile(
    r"(?P<account>\d{12})\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)(?:[:@].*)?"
)


def repository_arn(image: str, *, partition: str) -> str | None:
    """Return the ARN of the private repository of ECR that `image` is in.

    `None` for an image elsewhere, public.ecr.aws included, which is pulled without credentials, and for a token, which
    tells nothing at synth.
    """
    found = None if is_unresolved(image) else _PRIVATE.fullmatch(image)
    if found is None:
        return None
    return f"arn:{partition}:ecr:{found['region']}:{found['account']}:repository/{found['repository']}"


def server_repository_arn(kind: ServerKind, process: ServerProcess, stack: cdk.Stack) -> str | None:
    """Return the ARN of the private repository that the image of a server of `kind` is in, for a task of `stack`.

    The catalog's image has tokens in its name, which `repository_arn` cannot read; its parts are known here.
    """
    if process.ecr_account is None:
        return repository_arn(process.image, partition=stack.partition)
    repository = model_servers()[kind].repository.partition("/")[2]
    return f"arn:{stack.partition}:ecr:{stack.region}:{process.ecr_account}:repository/{repository}"
