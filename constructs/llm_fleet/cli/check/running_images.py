"""Asks what image a cluster runs that is deployed already: an update may ask of it what it cannot."""

import re
from collections.abc import Callable, Collection
from datetime import date
from typing import Any

from llm_fleet.catalog.hyperpod import ImageFeature
from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.question import Answer
from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.rules.account.image import check_image_age
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem

_DATE = re.compile(r"(20\d{2})-?(\d{2})-?(\d{2})")


def running_images(
    cluster: HyperPodConfig, name: str, features: Collection[ImageFeature]
) -> Callable[[Account], Answer]:
    """Return what asks. A new cluster gets HyperPod's newest image, whose date no API tells beforehand."""

    def answer(account: Account) -> Answer:
        groups = _groups(account, cluster.cluster_name)
        if groups is None:
            return Answer(detail="not deployed yet: it gets HyperPod's newest image")
        problems: list[Problem] = []
        for group in groups:
            release = str(group.get("CurrentImageReleaseVersion") or "")
            problems += check_image_age(
                _date_of(release),
                features,
                image=f"the image release {release}",
                owner=f"{name}/{group['InstanceGroupName']}",
                remedy=f"update it with `aws sagemaker update-cluster-software --cluster-name {cluster.cluster_name} "
                f"--region {account.region}`, which wipes root volumes; `llm-fleet upgrade {name}` tells what",
                path=("clusters", name),
            )
        releases = {str(group.get("CurrentImageReleaseVersion") or "") for group in groups} - {""}
        return Answer(detail=", ".join(sorted(releases)) or "AWS does not tell its release", problems=problems)

    return answer


def _groups(account: Account, cluster_name: str) -> list[dict[str, Any]] | None:
    try:
        return account.ask("sagemaker", "describe_cluster", ClusterName=cluster_name)["InstanceGroups"]
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return None


def _date_of(release: str) -> date | None:
    """Return the date in a release's name; releases without one, such as 1.2.0, tell no age."""
    found = _DATE.search(release)
    if found is None:
        return None
    year, month, day = map(int, found.groups())
    try:
        return date(year, month, day)
    except ValueError:  # A number of a build, and no date.
        return None
