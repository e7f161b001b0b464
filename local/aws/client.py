"""The emulation as a Python object: start it, deploy to it, query it."""

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

from local.aws.assembly.deployer import AssemblyDeployer
from local.aws.assembly.report import DeploymentReport
from local.aws.functions.queue_delivery import QueueDelivery
from local.aws.process import ServerProcess
from local.aws.remembered_models import remember_models
from local.aws.router import OWN_PATH
from local.aws.server import DEFAULT_ACCOUNT, DEFAULT_REGION, client_environment

_BOOTSTRAP = Path(__file__).parent / "assembly" / "bootstrap.yaml"


class LocalAws:
    """An AWS emulator, in a process of its own unless `endpoint` names a running one.

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
        """Start the server; for fixtures that cannot use the context. Raises `RuntimeError` when it does not come."""
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
        """Where it listens, e.g. `http://localhost:40123`. Raises `RuntimeError` before it was started."""
        if self._endpoint is None:
            raise RuntimeError("the local emulation is not running: use it as a context manager, or call start()")
        return self._endpoint

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the CDK CLI and the SDKs need."""
        return client_environment(self.endpoint, account=self.account, region=self.region)

    @property
    def server_log(self) -> str:
        """What the server wrote; empty when another program runs it."""
        return self._server.log if self._server else ""

    def client(self, service: str, region: str | None = None) -> Any:
        """Return a boto3 client with all permissions; cached, because creating it takes longer than a call."""
        wanted = (service, region or self.region)
        if wanted not in self._clients:
            self._clients[wanted] = self._client(*wanted, "testing", "testing", None)
        return self._clients[wanted]

    def bootstrap(self, region: str | None = None) -> None:
        """Make what `cdk bootstrap` makes, as far as `deploy` needs it: the asset bucket, roles, the version."""
        cloudformation = self.client("cloudformation", region)
        cloudformation.create_stack(
            StackName="CDKToolkit",
            TemplateBody=_BOOTSTRAP.read_text(encoding="utf-8"),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        cloudformation.get_waiter("stack_create_complete").wait(StackName="CDKToolkit", WaiterConfig={"Delay": 1})

    def deploy(self, assembly: Path, *, only: Collection[str] | None = None) -> DeploymentReport:
        """Deploy what `cdk synth` wrote into `assembly`, without the CDK CLI. `only`: the stacks of these names."""
        return self._deployer().deploy(assembly, only=only)

    def destroy(self, assembly: Path, *, unprotect: bool = False) -> DeploymentReport:
        """Delete the stacks of `assembly`, the last deployed first; `unprotect`: protected ones too."""
        return self._deployer().destroy(assembly, unprotect=unprotect)

    def stacks(self) -> list[dict[str, Any]]:
        """Return all stacks that are not deleted, with their resources and how real each one is."""
        with urlopen(f"{self.endpoint}{OWN_PATH}stacks") as answer:  # noqa: S310 - our own loopback URL
            return json.loads(answer.read())

    def recorded(self) -> list[dict[str, Any]]:
        """Return the resources that were checked and recorded, but not created: nothing emulates them."""
        return [
            {"stack": stack["name"], **resource}
            for stack in self.stacks()
            for resource in stack["resources"]
            if resource["level"] == "recorded"
        ]

    def events(self, stack: str, region: str | None = None, *, after: str = "") -> list[dict[str, Any]]:
        """Return a stack's events, oldest first, by name or (deleted ones too) by id.

        `after`: only those that came after the event of this id. Default: all.
        """
        pages = self.client("cloudformation", region).get_paginator("describe_stack_events").paginate(StackName=stack)
        newest_first = (event for page in pages for event in page["StackEvents"])
        return list(takewhile(lambda event: event["EventId"] != after, newest_first))[::-1]

    def last_event(self, stack: str) -> str:
        """Return the id of the newest event of a stack, by name."""
        return self.client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"][0]["EventId"]

    def invoke(
        self, function_name: str, event: Mapping[str, Any], *, checked: bool = True, region: str | None = None
    ) -> dict[str, Any]:
        """Run a deployed function with `event`, in a process with its role's credentials, and wait for it.

        Returns `returned` (what its handler did), `ended_well`, `timed_out` and `log`. `checked`: IAM allows or denies
        each of its calls, by action and resource, and every other call meanwhile; see `as_role`.
        """
        requested = {"function": function_name, "event": event, "region": region or self.region, "checked": checked}
        return self._ask("invoke", requested)

    def deliver(self, function_name: str, *, region: str | None = None) -> list[dict[str, Any]]:
        """Hand a function what waits in the queues that are mapped to it, batch by batch, as Lambda's pollers do.

        What it does not report as failed is deleted from the queue; the rest stays there until its visibility timeout
        has passed. Returns each run, as `invoke` does. What is delayed, or hidden, is not delivered.
        """
        return QueueDelivery(self.client, self.invoke).deliver(function_name, region or self.region)

    def shorten_waits(self, seconds: float) -> None:
        """Let no Wait state and no back-off of a state machine take longer than `seconds`."""
        self._steer({"waits": seconds})

    def run_machine(self, state_machine_arn: str, given: Mapping[str, Any] | None = None) -> str:
        """Start an execution of a state machine with an input (default `{}`); returns its ARN, immediately.

        The interpreter is moto's; its calls come back here, signed with the machine's role.
        """
        started = self.client("stepfunctions").start_execution(
            stateMachineArn=state_machine_arn, input=json.dumps({} if given is None else given)
        )
        return started["executionArn"]

    def move_training_job(
        self, name: str, status: str, *, secondary: str | None = None, reason: str = "", region: str | None = None
    ) -> dict[str, Any]:
        """Change the status of a training job: nothing trains here, so no status changes by itself.

        The service's event of it is put, too. `secondary`: default `status`. Returns the event's detail, which is what
        DescribeTrainingJob returns, with times in milliseconds. Raises `HTTPError` when there is no such job.
        """
        job = {"name": name, "status": status, "secondary": secondary, "reason": reason}
        reported = self._steer({"job": job, "region": region or self.region})
        detail = {key: round(value * 1000) if key.endswith("Time") else value for key, value in reported.items()}
        event = {
            "Source": "aws.sagemaker",
            "DetailType": "SageMaker Training Job State Change",
            "Detail": json.dumps(detail),
            "Resources": [reported["TrainingJobArn"]],
        }
        self.client("events", region).put_events(Entries=[event])
        return detail

    def refuse_training_jobs(self, code: str, *, times: int = 1, made: bool = False) -> None:
        """Let the next `times` requests for a training job fail with an error of the service, e.g. `ResourceInUse`.

        `made`: whether the job is created all the same, as when only the response is lost.
        """
        self._steer({"refusals": {"code": code, "times": times, "made": made}})

    def let_endpoints(self, *, interfaces_linger: bool = False, gone_is_an_error: bool = False) -> None:
        """Let SageMaker and CloudFormation do with endpoints what no document rules out.

        `interfaces_linger`: network interfaces outlive their endpoint, until this is called without it.
        `gone_is_an_error`: a stack's endpoint that a user has deleted cannot be deleted by the stack.
        """
        self._steer({"endpoints": {"interfaces_linger": interfaces_linger, "gone_is_an_error": gone_is_an_error}})

    def refuse_calls(
        self, code: str, *, service: str = "", operation: str = "", times: int = 1_000_000, message: str = ""
    ) -> None:
        """Let the next `times` calls fail with an error of AWS, e.g. `ThrottlingException` or `ExpiredTokenException`.

        `service`: as it signs, e.g. `sagemaker`; default any. `operation`: e.g. `ListClusterNodes`; default any, and
        always any of services whose operations show only in method and path (REST, e.g. S3). 0 `times` takes back what
        was said of `code`.
        """
        wish = {"code": code, "service": service, "operation": operation, "times": times, "message": message}
        self._ask("refuse", wish)

    def report_prices(self, products: Sequence[Mapping[str, Any]]) -> None:
        """Let AWS's Price List sell `products`: each with `service_code`, `attributes`, `unit`, and `usd` as text."""
        self._ask("prices", {"products": list(products)})

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
        """Let nodes of a HyperPod cluster be in another status, e.g. `Failure`; returns their ids.

        Default: all; of a `group`, or the one at `index` (from 0, in the order of their making).
        """
        wish = {"cluster": cluster, "status": status, "group": group, "index": index, "message": message}
        return self._steer({"nodes": {**wish, "add": 0, "remove": []}, "region": region or self.region})["ids"]

    def add_nodes(self, cluster: str, group: str, count: int, *, region: str | None = None) -> list[str]:
        """Let a group of a HyperPod cluster have `count` nodes more, with addresses but no interfaces; returns ids."""
        wish = {"cluster": cluster, "group": group, "add": count}
        return self._steer({"nodes": wish, "region": region or self.region})["ids"]

    def remove_nodes(self, cluster: str, ids: Sequence[str], *, region: str | None = None) -> None:
        """Let nodes of `add_nodes` be gone; the cluster replaces none."""
        wish = {"cluster": cluster, "group": None, "add": 0, "remove": list(ids)}
        self._steer({"nodes": wish, "region": region or self.region})

    def give_account(
        self,
        *,
        quotas: Mapping[str, Mapping[str, float]] | None = None,
        training_plans: Sequence[Mapping[str, Any]] = (),
        capacity_reservations: Sequence[Mapping[str, Any]] = (),
        without_endpoints: Mapping[str, Sequence[str]] | None = None,
        region: str | None = None,
    ) -> None:
        """Add capacity that the account was granted or has bought, which no API here offers, and let AZs lack services.

        `quotas`: by service and name, e.g. `{"sagemaker": {"ml.trn1.32xlarge for cluster usage": 4}}`. Plans and
        reservations are what DescribeTrainingPlan and DescribeCapacityReservations say, times in ISO 8601.
        `without_endpoints`: by AZ id, the services that AWS offers no interface endpoint of there, as named after
        `com.amazonaws.<region>.`; what was said before is taken back.
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

        EventBridge gets the event twice, and without the failure messages, as the service does.
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
        """Let a HyperPod cluster have an operation: `reported` is what DescribeClusterOperation will say."""
        self._steer({"operation": reported, "region": region or self.region})

    def _steer(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("steer", requested)

    def _ask(self, what: str, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the server itself, not one of its services."""
        request = Request(  # noqa: S310 - our own loopback URL
            f"{self.endpoint}{OWN_PATH}{what}", data=json.dumps(requested).encode(), method="POST"
        )
        with urlopen(request) as answer:  # noqa: S310
            return json.loads(answer.read())

    @contextmanager
    def as_role(self, role_arn: str) -> Generator[Callable[..., Any]]:
        """Act as a role: yields a function like `client` whose calls IAM allows or denies.

        Action and resource are checked, not conditions. While this lasts IAM checks every client of this server, so
        use nothing else meanwhile, and leave it before the next deployment.
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
        """Let IAM check every request after the next `request_count` ones."""
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
            user_agent="llm-fleet",  # the client's own takes a tenth of each call to put together
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
