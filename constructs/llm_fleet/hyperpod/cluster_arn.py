"""Tells the ARN of a HyperPod cluster from other text."""

import re

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def cluster_arn_problems(arn: str) -> list[Problem]:
    """Return what is wrong with `arn` as a cluster's; nothing for a token."""
    if is_unresolved(arn) or re.fullmatch(load("cluster_arn")["pattern"], arn):
        return []
    return [
        Problem(
            code=Code.CLUSTER_ARN,
            message="this is no ARN of a HyperPod cluster",
            path=("cluster_arn",),
            value=arn,
            allowed="arn:aws:sagemaker:<region>:<account>:cluster/<id of 12 small letters and digits>",
            remedy="copy ClusterArn from `aws sagemaker describe-cluster --cluster-name …`",
        )
    ]
