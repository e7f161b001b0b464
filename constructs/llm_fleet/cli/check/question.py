"""A check of an AWS account, its result, and the account with its cached calls."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.place import places_in
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from concurrent.futures import Future

    from llm_fleet.fleet_file.fleet import Fleet


class Topic(StrEnum):
    """A topic of `llm-fleet check`, the value of `--only`."""

    QUOTAS = "quotas"
    OFFERINGS = "offerings"
    CAPACITY = "capacity"
    NETWORK = "network"
    STORAGE = "storage"
    IMAGES = "images"
    MODELS = "models"


_PREFIXES = {"service-quotas": "servicequotas"}
"""IAM service prefixes that differ from boto3's names."""
_PAGES = {"service-quotas": 100, "sagemaker": 100}
"""Largest page size, where the service's default is ten or twenty: SageMaker has thousands of quotas."""
_ACTIONS = {"s3:HeadBucket": "s3:ListBucket", "s3:ListObjectsV2": "s3:ListBucket"}


class Account:
    """An account in one Region. Each call is made once: responses and refusals are cached."""

    def __init__(self, clients: AwsClients) -> None:
        """Call AWS with `clients`."""
        self._clients = clients
        self._making = Lock()
        self._lock = Lock()
        self._answers: dict[str, Future[dict[str, Any]]] = {}

    @property
    def region(self) -> str:
        """The AWS Region."""
        return self._clients.region

    @property
    def identity(self) -> dict[str, Any]:
        """The caller's identity: `Account` and `Arn`."""
        return self.ask("sts", "get_caller_identity")

    def ask(self, service: str, operation: str, *, first_page: bool = False, **parameters: Any) -> dict[str, Any]:
        """Return the response of `operation` of boto3's client of `service`, all pages in one unless `first_page`.

        Raises `AwsRefusal` whose subject is the IAM action.
        """
        from concurrent.futures import Future  # botocore imports logging, and `--help` imports this module.

        key = json.dumps([service, operation, parameters], sort_keys=True, default=str)
        with self._lock:
            requested = self._answers.get(key)
            mine = requested is None
            answer = self._answers[key] = Future() if requested is None else requested
        if mine:
            try:
                answer.set_result(self._ask(service, operation, first_page, parameters))
            except BaseException as error:
                answer.set_exception(error)
        return answer.result()

    def find(self, service: str, operation: str, *, first_page: bool = False, **parameters: Any) -> dict[str, Any]:
        """Return the same as `ask`; empty if the resource does not exist."""
        try:
            return self.ask(service, operation, first_page=first_page, **parameters)
        except AwsGone:
            return {}

    def _ask(self, service: str, operation: str, first_page: bool, parameters: dict[str, Any]) -> dict[str, Any]:
        with aws_errors_reported(iam_action(service, operation)):
            with self._making:  # boto3 does not create clients in several threads.
                client = self._clients.client(service)
            if not first_page and client.can_paginate(operation):
                pages = client.get_paginator(operation)
                sized = {"PaginationConfig": {"PageSize": _PAGES[service]}} if service in _PAGES else {}
                return pages.paginate(**parameters, **sized).build_full_result()
            return getattr(client, operation)(**parameters)


def iam_action(service: str, operation: str) -> str:
    """Return the IAM action of `operation` of boto3's client, e.g. `ec2:DescribeSubnets`."""
    camel = "".join(part.capitalize() for part in operation.split("_"))
    camel = re.sub(r"\bListAws", "ListAWS", camel)
    action = f"{_PREFIXES.get(service, service)}:{camel}"
    return _ACTIONS.get(action, action)


def header_of(refusal: AwsRefusal, name: str) -> str | None:
    """Return a header of a refusal; S3 sends a bucket's Region even when it denies access."""
    response: dict[str, Any] = getattr(refusal.__cause__, "response", None) or {}
    return response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get(name)


_PARALLELCLUSTER = "parallelcluster:cluster-name"


def own_ids(account: Account, fleet: "Fleet") -> frozenset[str]:
    """Return the physical ids of all resources of the fleet's stacks; none of a stack that does not exist.

    As soon as one exists, with the existing subnets and security group in which the fleet's nodes are, but without an
    existing VPC: it has resources of others, too.
    """
    created = frozenset(thing for stack in _stacks(fleet) for thing in _ids_of(account, stack))
    return created | _used_by_nodes(fleet) if created else created


def _used_by_nodes(fleet: "Fleet") -> frozenset[str]:
    """Return the security group of an existing network; with `existing`, also the subnets, which only it uses."""
    network = fleet.network
    if network is None:
        return frozenset()
    group, parts = network.existing_security_group, network.existing
    subnets = (*parts.subnets.values(), *parts.database_subnets) if parts is not None else ()
    return frozenset((*subnets, *([group[0]] if group is not None else ())))


def is_in(own: frozenset[str], thing: Mapping[str, Any]) -> bool:
    """Return whether an instance, interface or gateway is one of `own`, or in a VPC, subnet or group of it."""
    groups = thing.get("Groups") or thing.get("SecurityGroups") or ()
    places = [*(group["GroupId"] for group in groups), *(one["VpcId"] for one in thing.get("Attachments", ()))]
    named = ("VpcId", "SubnetId", "NatGatewayId", "InternetGatewayId")
    return not own.isdisjoint([*places, *(thing[name] for name in named if name in thing)])


def is_of_parallelcluster(tags: Iterable[Mapping[str, str]], fleet: "Fleet") -> bool:
    """Return whether an instance with these tags is a node of one of the fleet's ParallelCluster clusters."""
    names = {cluster.cluster_name for cluster in fleet.parallelclusters.values()}
    reported = next((tag["Value"] for tag in tags if tag["Key"] == _PARALLELCLUSTER), "")
    return reported in names or reported.rpartition("-")[0] in names  # The name ends in a hash.


def _stacks(fleet: "Fleet") -> list[str]:
    """Return the names of the stacks with resources that quotas count: network, storage, clusters and services."""
    ours = [f"{fleet.name}-{part}" for part in ("network", "storage")]
    return [*ours, *(place.stack for place in places_in(fleet) if place.stack is not None)]


def _ids_of(account: Account, stack: str) -> list[str]:
    reported = account.find("cloudformation", "list_stack_resources", StackName=stack)
    resources: list[dict[str, Any]] = reported.get("StackResourceSummaries", [])
    return [str(one["PhysicalResourceId"]) for one in resources if one.get("PhysicalResourceId")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a check."""

    detail: str
    """What was found or compared, for the table."""
    problems: Sequence[Problem] = ()
    checked: bool = True
    """`False` if AWS does not return what the check needs; then `detail` says so."""


Ask = Callable[[Account], Answer]
"""Makes the check; raises `AwsRefusal` if AWS refuses a call."""


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the table."""

    topic: Topic
    what: str
    """What is checked, e.g. `quota …`."""
    answer: Ask


class Verdict(StrEnum):
    """Result of a check."""

    GOOD = "good"
    PROBLEM = "problem"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A check that was made."""

    question: Question
    verdict: Verdict
    detail: str
    problems: Sequence[Problem] = ()
    action: str = ""
    """The IAM action that was refused, if the check could not be made."""
