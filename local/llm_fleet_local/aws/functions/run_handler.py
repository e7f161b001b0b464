"""Runs Lambda handlers as the Python runtime does: each in a fork of a process that has imported only the SDK.

Source: emulation, a new process of this machine's Python replaces Lambda's runtime
"""

import importlib
import json
import os
import signal
import sys
import time
import uuid
from functools import cache
from pathlib import Path

from llm_fleet_local.aws.fork_server import ForkServer, fork_for_each_request

_FROM_THE_START = {
    "LANG": "en_US.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "TZ": ":UTC",
}
"""Variables that Python reads when it starts."""


class Context:
    """The context object that Lambda passes to a handler in addition to the event."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.aws_request_id = str(uuid.uuid4())
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.invoked_function_arn = os.environ["LLM_FLEET_FUNCTION_ARN"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.identity = None
        self.client_context = None

    def get_remaining_time_in_millis(self) -> int:
        """Return the time left for the handler."""
        return max(0, int((self._end - time.monotonic()) * 1000))


@cache
def handler_forks() -> ForkServer:
    """Return the fork server for handlers; each fork calls `_run` with its arguments."""
    return ForkServer("llm_fleet_local.aws.functions.run_handler", environment=_FROM_THE_START)


def _import_sdk() -> None:
    """Import only what Lambda's runtime has in addition to the standard library."""
    from llm_fleet_local.aws.remembered_models import remember_models

    remember_models()
    import boto3

    sdk = boto3.Session(aws_access_key_id="none", aws_secret_access_key="none", region_name="us-west-2")  # noqa: S106
    for service in ("s3", "sagemaker"):
        sdk.client(service)  # reads its model
    sys.path.pop(0)


def _run(arguments: list[str]) -> int:
    """Run a handler once; return 0, or raise its exception.

    Arguments: the handler (`module.function`), its timeout in seconds, the folder of the function, and the file for its
    return value as JSON. The event is on standard input.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    name, seconds, folder, answer = arguments
    event = json.load(sys.stdin)
    os.chdir(folder)
    sys.path.insert(0, folder)
    module, _, function = name.rpartition(".")
    returned = getattr(importlib.import_module(module.replace("/", ".")), function)(event, Context(float(seconds)))
    Path(answer).write_text(json.dumps(returned), encoding="utf-8")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent process
    sys.exit(fork_for_each_request(_import_sdk, _run))
