"""The AWS emulator as a Python object: start it, deploy to it, query it."""

import json
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import Request, urlopen

import boto3
from botocore.config import Config

from llm_fleet_local.aws.assembly.deployer import AssemblyDeployer
from llm_fleet_local.aws.assembly.report import DeploymentReport
from llm_fleet_local.aws.functions.queue_delivery import QueueDelivery
from llm_fleet_local.aws.process import ServerProcess
from llm_fleet_local.aws.remembered_models import remember_models
from llm_fleet_local.aws.router import OWN_PATH
from llm_fleet_local.aws.server import DEFAULT_ACCOUNT, DEFAULT_REGION, client_environment

_BOOTSTRAP = Path(__file__).parent / "assembly" / "bootstrap.yaml"


class LocalAws:
    """An AWS emulator, in a separate process unless `endpoint` names a running one.

        with LocalAws() as aws:
            aws.bootstrap()
            report = aws.deploy(Path("cdk.out"))
            aws.client("s3").list_buckets()

    What is deployed here was deployed to a local emulation, never to AWS.
    """

    def __init__(
        self, *, endpoint: str | None = None, account: str = DEFAULT_ACCOUNT, region: str = DEFAULT_REGION
    ) -> None:
        """Prepare; the server starts on entering the context."""
        self.account = account
        self.region = region
        self._endpoint = endpoint
        self._server: ServerProcess | None = None
        self._clients: dict[tuple[str, str], Any] = {}
        self._session = boto3.session.Session()

    def __enter__(self) -> "LocalAws":
        if self._endpoint is None:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server; for fixtures that cannot use the context. Raises `RuntimeError` if it does not start."""
        remember_models()
        self._server = ServerProcess(account=self.account, region=self.region)
        self._endpoint = self._server.endpoint

    def stop(self) -> None:
        """Stop the server, if this object started it."""
        if self._server is not None:
            self._server.stop()
            self._server = None
            self._endpoint = None
            self._clients.clear()

    @property
    def endpoint(self) -> str:
        """Its address, e.g. `http://localhost:40123`. Raises `RuntimeError` before it was started."""
        if self._endpoint is None:
            raise RuntimeError("the AWS emulator is not running: use it as a context manager, or call start()")
        return self._endpoint

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the CDK CLI and the SDKs need."""
        return client_environment(self.endpoint, account=self.account, region=self.region)

    @property
    def server_log(self) -> str:
        """The server's output; empty if another program runs it."""
        return self._server.log if self._server else ""

    def client(self, service: str, region: str | None = None) -> Any:
        """Return a boto3 client with all permissions; cached, because creating it takes longer than a call."""
        wanted = (service, region or self.region)
        if wanted not in self._clients:
            self._clients[wanted] = self._client(*wanted, "testing", "testing", None)
        return self._clients[wanted]

    def bootstrap(self, region: str | None = None) -> None:
        """Create what `deploy` needs of `cdk bootstrap`: the asset bucket, roles, the version."""
        cloudformation = self.client("cloudformation", region)
        cloudformation.create_stack(
            StackName="CDKToolkit",
            TemplateBody=_BOOTSTRAP.read_text(encoding="utf-8"),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        cloudformation.get_waiter("stack_create_complete").wait(StackName="CDKToolkit", WaiterConfig={"Delay": 1})

    def deploy(
        self, assembly: Path, *, only: Collection[str] | None = None, role_arn: str | None = None
    ) -> DeploymentReport:
        """Deploy a cloud assembly without the CDK CLI. `only`: names of stacks; `role_arn`: their service role."""
        return self._deployer().deploy(assembly, only=only, role_arn=role_arn)

    def destroy(self, assembly: Path, *, unprotect: bool = False) -> DeploymentReport:
        """Delete the stacks of `assembly` in reverse order of deployment; `unprotect`: also protected ones."""
        return self._deployer().destroy(assembly, unprotect=unprotect)

    def stacks(self) -> list[dict[str, Any]]:
        """Return all stacks that are not deleted, with their resources and the level of each."""
        with urlopen(f"{self.endpoint}{OWN_PATH}stacks") as answer:  # noqa: S310 - our own loopback URL
            return json.loads(answer.read())

    def recorded(self) -> list[dict[str, Any]]:
        """Return the resources that were checked and recorded but not created, because nothing emulates them."""
        return [
            {"stack": stack["name"], **resource}
            for stack in self.stacks()
            for resource in stack["resources"]
            if resource["level"] == "recorded"
        ]

    def events(self, stack: str, region: str | None = None, *, after: str = "") -> list[dict[str, Any]]:
        """Return a stack's events, oldest first. Deleted stacks are found by id only.

        `after`: only events after the one with this id. Default: all.
        """
        pages = self.client("cloudformation", region).get_paginator("describe_stack_events").paginate(StackName=stack)
        newest_first = (event for page in pages for event in page["StackEvents"])
        return list(takewhile(lambda event: event["EventId"] != after, newest_first))[::-1]

    def last_event(self, stack: str) -> str:
        """Return the id of a stack's newest event."""
        return self.client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"][0]["EventId"]

    def invoke(
        self, function_name: str, event: Mapping[str, Any], *, checked: bool = True, region: str | None = None
    ) -> dict[str, Any]:
        """Run a deployed function with `event`, in a process with its role's credentials, and wait for it.

        Returns `returned` (by its handler), `ended_well`, `timed_out` and `log`. `checked`: IAM allows or denies each
        of its calls, by action and resource, and every other call during the run; see `as_role`.
        """
        requested = {"function": function_name, "event": event, "region": region or self.region, "checked": checked}
        return self._post("invoke", requested)

    def deliver(self, function_name: str, *, region: str | None = None) -> list[dict[str, Any]]:
        """Pass the messages in the queues that are mapped to a function to it, batch by batch, as Lambda's pollers do.

        Messages that it does not report as failed are deleted; the others stay in the queue until their visibility
        timeout ends. Returns each run, as `invoke` does. Delayed or hidden messages are not delivered.
        """
        return QueueDelivery(self.client, self.invoke).deliver(function_name, region or self.region)

    def check_execution_roles(self, wanted: bool = True) -> None:
        """Evaluate the service role of each stack for each call, or (False) let all stacks do everything.

        Actions, resources and a few condition keys are evaluated. By default, stacks do everything.
        """
        self._steer({"execution_roles": wanted})

    def shorten_waits(self, seconds: float) -> None:
        """Limit every Wait state and back-off of a state machine to `seconds`."""
        self._steer({"waits": seconds})

    def run_machine(self, state_machine_arn: str, given: Mapping[str, Any] | None = None) -> str:
        """Start an execution of a state machine with an input (default `{}`); return its ARN without waiting.

        The interpreter is moto's; its calls go to this emulator, signed with the state machine's role.
        """
        started = self.client("stepfunctions").start_execution(
            stateMachineArn=state_machine_arn, input=json.dumps({} if given is None else given)
        )
        return started["executionArn"]

    def move_training_job(
        self, name: str, status: str, *, secondary: str | None = None, reason: str = "", region: str | None = None
    ) -> dict[str, Any]:
        """Change the status of a training job: nothing trains here, so no status changes by itself.

        The service's event is put, too. `secondary`: default `status`. Returns the event's detail:
        DescribeTrainingJob's response with times in milliseconds. Raises `HTTPError` for an unknown job.
        """
        job = {"name": name, "status": status, "secondary": secondary, "reason": reason}
        described = self._steer({"job": job, "region": region or self.region})
        detail = {key: round(value * 1000) if key.endswith("Time") else value for key, value in described.items()}
        event = {
            "Source": "aws.sagemaker",
            "DetailType": "SageMaker Training Job State Change",
            "Detail": json.dumps(detail),
            "Resources": [described["TrainingJobArn"]],
        }
        self.client("events", region).put_events(Entries=[event])
        return detail

    def refuse_training_jobs(self, code: str, *, times: int = 1, made: bool = False) -> None:
        """Make the next `times` requests for a training job fail with an error of the service, e.g. `ResourceInUse`.

        `made`: whether the job is created anyway, as if only the response was lost.
        """
        self._steer({"refusals": {"code": code, "times": times, "made": made}})

    def let_endpoints(self, *, interfaces_linger: bool = False, gone_is_an_error: bool = False) -> None:
        """Emulate behavior of SageMaker and CloudFormation with endpoints that no document excludes.

        `interfaces_linger`: network interfaces remain after their endpoint is deleted, until this is called without it.
        `gone_is_an_error`: CloudFormation fails to delete an endpoint that a user has already deleted.
        """
        self._steer({"endpoints": {"interfaces_linger": interfaces_linger, "gone_is_an_error": gone_is_an_error}})

    def refuse_calls(
        self, code: str, *, service: str = "", operation: str = "", times: int = 1_000_000, message: str = ""
    ) -> None:
        """Make the next `times` calls fail with an error of AWS, e.g. `ThrottlingException` or `ExpiredTokenException`.

        `service`: its name in signatures, e.g. `sagemaker`; default any. `operation`: e.g. `ListClusterNodes`; default
        any, and always any if only method and path identify operations (REST, e.g. S3). With `times` 0, earlier calls
        of this method with `code` are cancelled.
        """
        request = {"code": code, "service": service, "operation": operation, "times": times, "message": message}
        self._post("refuse", request)

    def report_prices(self, products: Sequence[Mapping[str, Any]]) -> None:
        """Add `products` to AWS's Price List: each with `service_code`, `attributes`, `unit`, and `usd` as text."""
        self._post("prices", {"products": list(products)})

    def move_nodes(
        self,
        cluster: str,
        status: str,
        *,
        group: str | None = None,
        index: int | None = None,
        message: str = "",
        region: str | None = None,
    ) -> list[str]:
        """Set the status of a HyperPod cluster's nodes, e.g. `Failure`; return their ids.

        Default: all nodes; or those of a `group`, or the one at `index` (from 0, in the order of creation).
        """
        request = {"cluster": cluster, "status": status, "group": group, "index": index, "message": message}
        return self._steer({"nodes": {**request, "add": 0, "remove": []}, "region": region or self.region})["ids"]

    def add_nodes(self, cluster: str, group: str, count: int, *, region: str | None = None) -> list[str]:
        """Add `count` nodes to a group of a HyperPod cluster, with IP addresses but no interfaces; return their ids."""
        request = {"cluster": cluster, "group": group, "add": count}
        return self._steer({"nodes": request, "region": region or self.region})["ids"]

    def remove_nodes(self, cluster: str, ids: Sequence[str], *, region: str | None = None) -> None:
        """Remove nodes of `add_nodes`; the cluster does not replace them."""
        request = {"cluster": cluster, "group": None, "add": 0, "remove": list(ids)}
        self._steer({"nodes": request, "region": region or self.region})

    def give_account(
        self,
        *,
        quotas: Mapping[str, Mapping[str, float]] | None = None,
        training_plans: Sequence[Mapping[str, Any]] = (),
        capacity_reservations: Sequence[Mapping[str, Any]] = (),
        without_endpoints: Mapping[str, Sequence[str]] | None = None,
        region: str | None = None,
    ) -> None:
        """Set quotas and bought capacity of the account, for which there is no API here, and services missing in AZs.

        `quotas`: by service and name, e.g. `{"sagemaker": {"ml.trn1.32xlarge for cluster usage": 4}}`. Plans and
        reservations are as in DescribeTrainingPlan and DescribeCapacityReservations, times in ISO 8601.
        `without_endpoints`: by AZ id, the services without interface endpoints there, named as after
        `com.amazonaws.<region>.`; replaces earlier values.
        """
        given = {
            "quotas": quotas or {},
            "training_plans": list(training_plans),
            "capacity_reservations": list(capacity_reservations),
            "without_endpoints": without_endpoints or {},
        }
        self._steer({"given": given, "region": region or self.region})

    def report_cluster_event(self, reported: Mapping[str, Any], *, region: str | None = None) -> None:
        """Record an event of a HyperPod cluster. `reported`: what DescribeClusterEvent returns (`EventDetails`).

        EventBridge receives the event twice and without the failure messages, as from the service.
        """
        detail = self._steer({"event": reported, "region": region or self.region})
        event = {
            "Source": "aws.sagemaker",
            "DetailType": "SageMaker HyperPod Cluster Event",
            "Detail": json.dumps({"EventDetails": detail}),
            "Resources": [reported["ClusterArn"]],
        }
        self.client("events", region).put_events(Entries=[event, event])

    def report_cluster_operation(self, reported: Mapping[str, Any], *, region: str | None = None) -> None:
        """Add an operation of a HyperPod cluster: `reported` is the response of DescribeClusterOperation."""
        self._steer({"operation": reported, "region": region or self.region})

    def _steer(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        return self._post("steer", requested)

    def _post(self, path: str, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Call the server itself, not one of its services."""
        request = Request(  # noqa: S310 - our own loopback URL
            f"{self.endpoint}{OWN_PATH}{path}", data=json.dumps(requested).encode(), method="POST"
        )
        with urlopen(request) as answer:  # noqa: S310
            return json.loads(answer.read())

    @contextmanager
    def as_role(self, role_arn: str) -> Generator[Callable[..., Any]]:
        """Assume a role: yields a function like `client` whose calls IAM allows or denies.

        Action and resource are checked, not conditions. Inside the context IAM checks every client of this server, so
        use no other client there, and leave the context before the next deployment.
        """
        answer = self.client("sts").assume_role(RoleArn=role_arn, RoleSessionName="local-aws")
        keys = answer["Credentials"]

        def client(service: str, region: str | None = None) -> Any:
            return self._client(service, region, keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

        self._check_from("0")
        try:
            yield client
        finally:
            self._check_from("inf")

    def _check_from(self, request_count: str) -> None:
        """Make IAM check every request after the next `request_count`."""
        request = Request(  # noqa: S310 - our own loopback URL
            f"{self.endpoint}/moto-api/reset-auth",
            data=request_count.encode(),
            # Not a form: moto reads the raw body.
            headers={"Content-Type": "text/plain"},
            method="POST",
        )
        with urlopen(request) as answer:  # noqa: S310
            answer.read()

    def _deployer(self) -> AssemblyDeployer:
        return AssemblyDeployer(self.client, endpoint=self.endpoint, account=self.account, region=self.region)

    def _client(self, service: str, region: str | None, key: str, secret: str, token: str | None) -> Any:
        settings = Config(
            s3={"addressing_style": "path"},
            retries={"max_attempts": 0},
            user_agent="llm-fleet",  # building the default one takes a tenth of each call
        )
        session: Any = self._session
        return session.client(
            service,
            region_name=region or self.region,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=token,
            endpoint_url=self.endpoint,
            config=settings,
        )
