"""A question to the account, its answer, and the account that it is asked of."""

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
    """A part of the preflight, as `--only` names it."""

    QUOTAS = "quotas"
    OFFERINGS = "offerings"
    CAPACITY = "capacity"
    NETWORK = "network"
    STORAGE = "storage"
    IMAGES = "images"
    MODELS = "models"


_PREFIXES = {"service-quotas": "servicequotas"}
"""Where the service's name in IAM is not boto3's."""
_PAGES = {"service-quotas": 100, "sagemaker": 100}
"""The most that a page may hold, where the service's default is ten or twenty: SageMaker has thousands of quotas."""
_ACTIONS = {"s3:HeadBucket": "s3:ListBucket", "s3:ListObjectsV2": "s3:ListBucket"}


class Account:
    """An account as it is seen from one region. What was asked once is not asked again, refusals included."""

    def __init__(self, clients: AwsClients) -> None:
        """Ask with `clients`."""
        self._clients = clients
        self._making = Lock()
        self._lock = Lock()
        self._answers: dict[str, Future[dict[str, Any]]] = {}

    @property
    def region(self) -> str:
        """Where is asked."""
        return self._clients.region

    @property
    def identity(self) -> dict[str, Any]:
        """Who asks: `Account` and `Arn`."""
        return self.ask("sts", "get_caller_identity")

    def ask(self, service: str, operation: str, *, first_page: bool = False, **parameters: Any) -> dict[str, Any]:
        """Return what `operation` of boto3's client of `service` answers, all pages in one unless `first_page`.

        Raises `AwsRefusal` whose subject is the IAM action.
        """
        from concurrent.futures import Future  # It imports logging, and the command line reads this file for `--help`.

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
        """Return the same as `ask`; nothing where what is asked for is not there."""
        try:
            return self.ask(service, operation, first_page=first_page, **parameters)
        except AwsGone:
            return {}

    def _ask(self, service: str, operation: str, first_page: bool, parameters: dict[str, Any]) -> dict[str, Any]:
        with aws_errors_reported(iam_action(service, operation)):
            with self._making:  # boto3 makes clients in one thread only.
                client = self._clients.client(service)
            if not first_page and client.can_paginate(operation):
                pages = client.get_paginator(operation)
                sized = {"PaginationConfig": {"PageSize": _PAGES[service]}} if service in _PAGES else {}
                return pages.paginate(**parameters, **sized).build_full_result()
            return getattr(client, operation)(**parameters)


def iam_action(service: str, operation: str) -> str:
    """Return the action of IAM that `operation` of boto3's client needs, e.g. `ec2:DescribeSubnets`."""
    camel = "".join(part.capitalize() for part in operation.split("_"))
    camel = re.sub(r"\bListAws", "ListAWS", camel)
    action = f"{_PREFIXES.get(service, service)}:{camel}"
    return _ACTIONS.get(action, action)


def header_of(refusal: AwsRefusal, name: str) -> str | None:
    """Return a header of the answer that was a refusal; S3 tells a bucket's region even to whom it denies it."""
    response: dict[str, Any] = getattr(refusal.__cause__, "response", None) or {}
    return response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get(name)


_PARALLELCLUSTER = "parallelcluster:cluster-name"


def own_ids(account: Account, fleet: "Fleet") -> frozenset[str]:
    """Return the physical ids of all that the fleet's stacks have made; of a stack that is not there, nothing."""
    return frozenset(thing for stack in _stacks(fleet) for thing in _ids_of(account, stack))


def is_of_parallelcluster(tags: Iterable[Mapping[str, str]], fleet: "Fleet") -> bool:
    """Return whether an instance with these tags is a node of one of the fleet's ParallelClusters."""
    names = {cluster.cluster_name for cluster in fleet.parallelclusters.values()}
    reported = next((tag["Value"] for tag in tags if tag["Key"] == _PARALLELCLUSTER), "")
    return reported in names or reported.rpartition("-")[0] in names  # A hash follows the name.


def _stacks(fleet: "Fleet") -> list[str]:
    """Return the names of the stacks that make what quotas count: the network, storage, and what stands in them."""
    ours = [f"{fleet.name}-{part}" for part in ("network", "storage")]
    return [*ours, *(place.stack for place in places_in(fleet) if place.stack is not None)]


def _ids_of(account: Account, stack: str) -> list[str]:
    reported = account.find("cloudformation", "list_stack_resources", StackName=stack)
    resources: list[dict[str, Any]] = reported.get("StackResourceSummaries", [])
    return [str(one["PhysicalResourceId"]) for one in resources if one.get("PhysicalResourceId")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the account says."""

    detail: str
    """For the table: the numbers that were compared."""
    problems: Sequence[Problem] = ()


Ask = Callable[[Account], Answer]
"""Asks, and judges; raises `AwsRefusal` where AWS may or will not say."""


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the table."""

    topic: Topic
    what: str
    """What is checked, in words."""
    answer: Ask


class Verdict(StrEnum):
    """What came of a question."""

    GOOD = "good"
    PROBLEM = "problem"
    NOT_CHECKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A question that was asked."""

    question: Question
    verdict: Verdict
    detail: str
    problems: Sequence[Problem] = ()
    action: str = ""
    """Of one that was not asked: the IAM action that was refused."""
