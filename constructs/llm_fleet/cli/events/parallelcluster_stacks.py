"""The stacks that ParallelCluster makes for a cluster."""

import re
from typing import Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws

_VERSION = "parallelcluster:version"


def cluster_stacks(clients: AwsClients, name: str) -> list[str]:
    """Return the ids of the cluster's own stacks, those that are there: two while one takes the place of the other.

    A stack that was deleted after a failure is found too, the last one of them. Raises `AwsRefusal`.
    """
    form = re.compile(re.escape(name) + r"(-[0-9a-f]{8})?")
    with told_of_aws(f"stacks of {name}"):
        pages = clients.cloudformation.get_paginator("describe_stacks").paginate()
        there: list[Any] = [stack for page in pages for stack in page["Stacks"]]
    found = [one["StackId"] for one in there if form.fullmatch(one["StackName"]) and _is_cluster(one)]
    if found:
        return found
    with told_of_aws(f"stacks of {name}"):
        gone = clients.cloudformation.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
        deleted: list[Any] = [stack for page in gone for stack in page["StackSummaries"]]
    fitting = [one for one in deleted if form.fullmatch(one["StackName"])]
    return [max(fitting, key=lambda one: one["CreationTime"])["StackId"]] if fitting else []


def _is_cluster(stack: dict[str, Any]) -> bool:
    return any(tag["Key"] == _VERSION for tag in stack.get("Tags", []))
