"""Runs one Lambda handler, as the Python runtime does. A program of its own: it is given to a fresh interpreter.

Arguments: the handler (`module.function`), the seconds it may take, and the file to write what it returns into, as
JSON. The event comes by standard input; the folder of the function is the working directory. Exit 0: the handler
returned; 1: it raised, or returned what is no JSON, and the trace is on standard error.

Source: emulation, a fresh interpreter in place of Lambda's runtime
"""

import importlib
import json
import os
import sys
import time
import uuid


class Context:
    """What Lambda hands to a handler beside the event."""

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
        """Return how long the handler may still take."""
        return max(0, int((self._end - time.monotonic()) * 1000))


def main() -> None:
    """Run the handler of the arguments once."""
    name, seconds, answer = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    event = json.load(sys.stdin)
    sys.path.insert(0, os.getcwd())
    module, _, function = name.rpartition(".")
    returned = getattr(importlib.import_module(module.replace("/", ".")), function)(event, Context(seconds))
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(returned, file)


if __name__ == "__main__":
    main()
