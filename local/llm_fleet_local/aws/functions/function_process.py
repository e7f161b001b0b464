"""Runs a Lambda function's code as a process on this machine, with its role's credentials only."""

import io
import json
import os
import select
import signal
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moto.awslambda.models import lambda_backends

from llm_fleet_local.aws.functions.run_handler import handler_forks
from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.services import Services

_LOG_LINES_REPORTED = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of one run."""

    ended_well: bool
    timed_out: bool
    log: str
    """The last lines of the function's output."""
    returned: Any
    """The handler's return value; `None` if it did not return."""


class FunctionProcess:
    """Invokes functions of the emulated Lambda, each time in a new process and folder."""

    def __init__(self, services: Services) -> None:
        """Run functions against the services at one endpoint."""
        self._services = services

    def invoke(
        self,
        function_arn: str,
        event: Mapping[str, Any],
        region: str,
        account: str,
        *,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Run:
        """Run a function, by ARN or name, with an event until it ends or its timeout passes.

        `around`: a context manager around the run itself; everything that it needs was read from the services before.
        """
        found = self._services.call("lambda", region, "GetFunction", {"FunctionName": function_arn})
        function: dict[str, Any] = found["Configuration"]
        _reject_unserved(function)
        seconds = int(function.get("Timeout", 3))
        with tempfile.TemporaryDirectory(prefix="local-aws-lambda-") as folder:
            task = Path(folder, "task")
            _unpack(function_arn, region, account, task)
            environment = self._environment(function, region, Path(folder))
            with around():
                return _run(function["Handler"], seconds, event, task, environment)

    def _environment(self, function: Mapping[str, Any], region: str, folder: Path) -> dict[str, str]:
        """Return Lambda's variables, the function's own, and the endpoint; no variable of this process."""
        config = folder / "aws-config"
        config.write_text("[default]\ns3 =\n  addressing_style = path\n", encoding="utf-8")
        name = function["FunctionName"]
        own: dict[str, str] = function.get("Environment", {}).get("Variables", {})
        return {
            **own,
            **self._credentials(function["Role"], name, region),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "en_US.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "TZ": ":UTC",
            "AWS_CONFIG_FILE": str(config),
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self._services.endpoint_url,
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{function['Runtime']}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.get("MemorySize", 128)),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "LAMBDA_TASK_ROOT": str(folder / "task"),
            "LLM_FLEET_FUNCTION_ARN": function["FunctionArn"],
        }

    def _credentials(self, role_arn: str, session: str, region: str) -> dict[str, str]:
        """Assume the execution role, if its trust policy allows Lambda.

        Source: assumption services-ask-who-trusts-a-role
        """
        role = self._services.call("iam", region, "GetRole", {"RoleName": role_arn.rsplit("/", 1)[-1]})["Role"]
        trusted = json.dumps(role["AssumeRolePolicyDocument"])
        if "lambda.amazonaws.com" not in trusted:
            raise ResourceFailed(f"The role defined for the function cannot be assumed by Lambda: {role_arn}")
        wanted = {"RoleArn": role_arn, "RoleSessionName": session[:64]}
        given = self._services.call("sts", region, "AssumeRole", wanted)["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
            "AWS_SESSION_TOKEN": given["SessionToken"],
        }


def _reject_unserved(function: Mapping[str, Any]) -> None:
    # Source: emulation, only Python functions without layers run here
    runtime = str(function.get("Runtime"))
    if not runtime.startswith("python"):
        raise ResourceFailed(f"{function['FunctionName']}: the AWS emulator runs Python functions only, not {runtime}")
    if function.get("Layers"):
        raise ResourceFailed(f"{function['FunctionName']}: the AWS emulator runs no layers")


def _unpack(function_arn: str, region: str, account: str, task: Path) -> None:
    function: Any = lambda_backends[account][region].get_function(function_arn)
    with zipfile.ZipFile(io.BytesIO(function.code_bytes)) as archive:
        archive.extractall(task)


def _run(handler: str, seconds: int, event: Mapping[str, Any], task: Path, environment: dict[str, str]) -> Run:
    answer = task.with_name("returned.json")
    log, its_output = os.pipe()
    with tempfile.TemporaryFile() as its_input, open(log, "rb", buffering=0) as output:
        its_input.write(json.dumps(event).encode())
        its_input.seek(0)
        arguments = [handler, str(seconds), str(task), str(answer)]
        process = handler_forks().fork(arguments, environment, [its_input.fileno(), its_output])
        os.close(its_output)
        text, timed_out = _read(output, seconds)
        if timed_out:
            os.killpg(process, signal.SIGKILL)
            text += output.readall()
    returned = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None
    lines = text.decode(errors="replace").splitlines()[-_LOG_LINES_REPORTED:]
    return Run(ended_well=answer.exists(), timed_out=timed_out, log="\n".join(lines), returned=returned)


def _read(output: io.FileIO, seconds: float) -> tuple[bytes, bool]:
    """Return the output until the end or the timeout, and whether the timeout was first."""
    text = b""
    deadline = time.monotonic() + seconds
    while select.select([output], [], [], max(0, deadline - time.monotonic()))[0]:
        part = output.read(65536)
        if not part:
            return text, False
        text += part
    return text, True
