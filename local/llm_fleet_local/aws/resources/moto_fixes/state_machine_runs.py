"""State machines run: moto's interpreter evaluates them, and their calls go to the AWS emulator with their role.

By default moto only records executions. Its interpreter signs calls with invalid keys, names errors of SageMaker and
CloudWatch differently from Step Functions, passes the start time as a Python object, and uses the same name for every
execution without a name. Waits and back-offs take their real time; `shorten_waits` shortens them.

Source: model botocore stepfunctions CreateStateMachine
Source: assumption services-ask-who-trusts-a-role
"""

import time
import uuid
from datetime import datetime
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from moto.core import config as moto_config
from moto.iam.models import iam_backends
from moto.settings import moto_server_port
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_aws_sdk,
    state_task_service_dynamodb,
)
from moto.stepfunctions.parser.asl.component.state.wait.wait_function import wait_function
from moto.stepfunctions.parser.backend.execution import Execution
from moto.stepfunctions.parser.models import StepFunctionsParserBackend

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected

_ERROR_NAMES = {"sagemaker": "SageMaker", "cloudwatch": "CloudWatch", "dynamodb": "DynamoDb"}
"""Service names of the AWS SDK for Java, whose exceptions Step Functions reports; DynamoDb is moto's own name."""
_NAME_LENGTH = 64
_longest_wait = [float("inf")]
_session: Any = boto3.session.Session()


def install() -> None:
    """Run executions."""
    config: Any = moto_config.default_user_config
    config["stepfunctions"]["execute_state_machine"] = True
    sdk: Any = state_task_service_aws_sdk
    if sdk.boto_client_for is _client:
        return
    sdk._SERVICE_ERROR_NAMES.update(_ERROR_NAMES)
    _sign_as_the_machine(sdk.StateTaskServiceAwsSdk, sdk)
    _sign_as_the_machine(state_task_service_dynamodb.StateTaskServiceDynamoDB, state_task_service_dynamodb)
    _cut_waits()
    _name_executions()
    _check_roles()


def shorten_waits(seconds: float) -> None:
    """Limit every Wait state and back-off to `seconds`, also in running executions."""
    _longest_wait[0] = seconds


def _sign_as_the_machine(task: Any, module: Any) -> None:
    """Sign calls of `task`, a class of `module`, with credentials of the state machine's role."""
    evaluate = task._eval_service_task

    def eval_service_task(
        self: Any,
        env: Any,
        resource_runtime_part: Any,
        normalised_parameters: Any,  # codespell:ignore normalised
        state_credentials: Any,
    ) -> None:
        state_credentials.role_arn = env.aws_execution_details.role_arn
        given = (resource_runtime_part, normalised_parameters, state_credentials)  # codespell:ignore normalised
        evaluate(self, env, *given)

    task._eval_service_task = eval_service_task
    module.boto_client_for = _client


def _client(region: str, service: str, state_credentials: Any = None) -> Any:
    return _client_as(state_credentials.role_arn, region, service, moto_server_port())


@cache
def _client_as(role_arn: str, region: str, service: str, port: str) -> Any:
    """Return a client with a role's credentials; cached, because creating it takes longer than its calls."""
    endpoint = f"http://localhost:{port}"
    settings = Config(parameter_validation=False, retries={"max_attempts": 0})
    # Not checked by IAM: the trust policy was checked when the state machine was created.
    given = _session.client(
        "sts",
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106 - a dummy
    ).assume_role(RoleArn=role_arn, RoleSessionName="states")["Credentials"]
    return _session.client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        config=settings,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )


def _cut_waits() -> None:
    """Replace moto's wait, which counts whole seconds and would never end a shorter one."""

    def wait_interval(self: Any, env: Any, wait_seconds: float) -> None:
        end = time.monotonic() + min(wait_seconds, _longest_wait[0])
        while env.is_running() and (left := end - time.monotonic()) > 0:
            env.program_state_event.wait(left)

    waiting: Any = wait_function.WaitFunction
    waiting._wait_interval = wait_interval
    backing_off: Any = retrier_decl
    backing_off.time = _Clock()


class _Clock:
    """Sleeps at most as long as the limit."""

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, _longest_wait[0]))


def _name_executions() -> None:
    start = StepFunctionsParserBackend.start_execution
    details = Execution.get_start_execution_details

    def start_execution(
        self: Any, state_machine_arn: str, name: Any = None, execution_input: Any = None, trace_header: Any = None
    ) -> Any:
        return start(self, state_machine_arn, name or str(uuid.uuid4()), execution_input, trace_header)

    def get_start_execution_details(self: Any) -> Any:
        found: Any = details(self)
        found.start_time = _timestamp(self.start_date)
        return found

    StepFunctionsParserBackend.start_execution = start_execution
    Execution.get_start_execution_details = get_start_execution_details


def _timestamp(moment: datetime) -> str:
    """Format a time as in the context object of an execution."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def _check_roles() -> None:
    create = StepFunctionsParserBackend.create_state_machine

    def create_state_machine(self: Any, *args: Any, **given: Any) -> Any:
        role_arn = given.get("roleArn") or args[2]
        roles = iam_backends[self.account_id][self.partition].roles.values()
        found = next((role for role in roles if role.arn == role_arn), None)
        if found is None or "states.amazonaws.com" not in str(found.assume_role_policy_document):
            raise Rejected(
                "AccessDeniedException", f"Neither the global service principal states.amazonaws.com, nor the "
                f"regional one is authorized to assume the provided role {role_arn}."
            )  # fmt: skip
        return create(self, *args, **given)

    StepFunctionsParserBackend.create_state_machine = create_state_machine
