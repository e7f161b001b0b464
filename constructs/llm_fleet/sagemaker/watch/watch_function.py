"""The function that decides, and its way to the queue."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_fleet import functions
from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.lifecycle.script_folder import ScriptFile, read_folder

_PACKAGE = "training_watch"


def _files() -> Sequence[ScriptFile]:
    (root,) = functions.__path__
    return read_folder(Path(root, _PACKAGE))


class WatchFunction(PythonFunction):
    """A small Lambda function of our own, which takes events from the watch's queue, one at a time.

    One at a time: copying a checkpoint must not hold back what else has happened. Two runs at most: the record keeps
    them from each other, and the account's concurrency is left to others.
    """

    def __init__(
        self, scope: Construct, id: str, *, environment: Mapping[str, str], log_encryption_key: kms.IKey | None
    ) -> None:
        """Make the function; `map_queue` connects it."""
        facts = training_watch_facts().queue
        super().__init__(
            scope,
            id,
            code=FunctionCode(
                archive="training_watch.zip",
                files=_files,
                below=f"{_PACKAGE}/",
                handler=f"{_PACKAGE}.handler.handler",
                timeout=facts.timeout_seconds,
                description="Restarts training jobs that failed, stops those that run in vain, tells of clusters",
                policy_description="What the function that watches over training jobs may do",
                role_description="Role of the function that watches over training jobs and clusters",
                unencrypted_log="its log holds names of jobs and decisions, encrypted by CloudWatch",
            ),
            environment=environment,
            memory_mib=facts.memory_mib,
            log_encryption_key=log_encryption_key,
        )
        acknowledge(
            self,
            "events wait in a queue, whose mapping bounds how many runs there are; a reservation would take what a new "
            "account does not have",
            "NIST.800.53.R5-LambdaConcurrency",
        )
        acknowledge(
            self,
            "it is invoked by its queue alone, which puts aside what fails again and again",
            "NIST.800.53.R5-LambdaDLQ",
        )

    def map_queue(self, queue_arn: str) -> lambda_.CfnEventSourceMapping:
        """Let Lambda hand it what comes into the queue at `queue_arn`, message by message."""
        return lambda_.CfnEventSourceMapping(
            self,
            "FromQueue",
            function_name=self.function.ref,
            event_source_arn=queue_arn,
            batch_size=1,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(
                maximum_concurrency=training_watch_facts().queue.concurrency
            ),
        )
