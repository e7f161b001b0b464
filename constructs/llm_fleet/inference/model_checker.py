"""The function that looks at models in S3 while a stack is deployed. One a stack."""

from collections.abc import Sequence
from pathlib import Path

from llm_fleet import lifecycle
from llm_fleet.iam.statements import Permission, statement_of
from llm_fleet.lifecycle.python_function import DeploymentCode, DeploymentFunction
from llm_fleet.lifecycle.script_folder import ScriptFile, read_scripts

_PACKAGES = ("model_checker", "publisher")
"""The check, and the publisher's way of answering CloudFormation, which it uses."""
_ANSWER = ("publisher/__init__.py", "publisher/response.py")


def _files() -> list[ScriptFile]:
    (root,) = lifecycle.__path__
    found = [
        ScriptFile(path=f"{package}/{file.path}", data=file.data, executable=file.executable)
        for package in _PACKAGES
        for file in read_scripts(Path(root, package))
    ]
    return [file for file in found if file.path.startswith("model_checker/") or file.path in _ANSWER]


class ModelChecker(DeploymentFunction):
    """A small Lambda function of our own, which may list and read the models that it is asked about, and nothing else.

    It is in no VPC: it talks to S3 and CloudFormation only. Where a bucket's policy lets nobody in but through a VPC
    endpoint, it says so, and the deployment-time check has to be left out; tasks check again in any case.
    """

    code = DeploymentCode(
        id="LlmFleetModelChecker",
        archive="checker.zip",
        files=_files,
        below="lifecycle/",
        handler="lifecycle.model_checker.handler.handler",
        timeout=120,
        runs_once="once a model",
        description="Looks whether a model is there and compiled for its server, before the service is made",
        policy_description="What the function that looks at models may do",
        role_description="Role of the function that looks at models before their services are made",
        unencrypted_log="its log holds addresses of models and errors, encrypted by CloudWatch; another key can be "
        "given",
    )

    def allow(self, permissions: Sequence[Permission]) -> None:
        """Let it do what `permissions` say; their statement ids must be unique in the stack."""
        reasons = {arn: permission.reason for permission in permissions for arn in permission.resources}
        self.allow_statements([statement_of(permission) for permission in permissions], wildcards=reasons)
