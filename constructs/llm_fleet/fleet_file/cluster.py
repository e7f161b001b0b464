"""A HyperPod cluster."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from llm_fleet.fleet_file.accounting import FLEET_DATABASE, LOCAL_ACCOUNTING, AnyAccounting
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.values import RoleArn


def _or_words(schema: dict[str, Any]) -> None:
    words = {"enum": [LOCAL_ACCOUNTING, FLEET_DATABASE]}
    schema["anyOf"] = [arm if arm.get("type") != "null" else words for arm in schema["anyOf"]]


class HyperPodConfig(HyperPodClusterSpec, NodeSetupModel):
    """A SageMaker HyperPod cluster with Slurm. Its key is the cluster's name, unless `name` says otherwise."""

    written_as: ClassVar[Mapping[str, str]] = {
        "mounts": "groups",
        "lifecycle_source_s3_uri": "scripts",
    }
    other_words: ClassVar[Mapping[str, str]] = {
        "InstanceGroups": "write `groups`; `llm-fleet import` turns a whole request into a fleet file",
        "instance_groups": "write `groups`",
        "controller": "write it as a group of `role: controller` under `groups`",
        "workers": "write each as a group of `role: compute` under `groups`",
        **dict.fromkeys(
            ("head", "queues", "login"),
            "it is of `kind: parallelcluster`; a HyperPod cluster has all nodes in `groups`",
        ),
    }

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    kind: Literal["hyperpod"] = Field(examples=["hyperpod"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """What runs the cluster."""
    accounting_database: AnyAccounting | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, alias="accounting", examples=[LOCAL_ACCOUNTING], json_schema_extra=_or_words
    )
    """Where Slurm's accounting is kept: `slurm_database`, the fleet's, or another one. Default: `local`, the
    controller's own."""
    execution_role_arn: RoleArn | None = Field(default=None, alias="execution_role")
    """ARN of the role that nodes act with. Default: one is made, with what the features in use need."""

    @property
    def node_count(self) -> int:
        """How many nodes it has."""
        return sum(group.count for group in self.groups)
