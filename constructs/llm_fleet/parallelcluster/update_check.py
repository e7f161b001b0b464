"""Tells at synth what an update of the deployed cluster would do, and refuses what it would refuse."""

from collections.abc import Mapping
from typing import Any, cast

import aws_cdk as cdk
import jsii
from constructs import Construct, IValidation

from llm_fleet.rules.parallelcluster.terms import ImmutableChanges
from llm_fleet.rules.parallelcluster.update.check import check_update
from llm_fleet.rules.parallelcluster.update.plan import plan_update
from llm_fleet.rules.parallelcluster.update.plan_text import new_cluster_text, plan_text
from llm_fleet.rules.parallelcluster.update.protocols import DeployedLike


@jsii.implements(IValidation)
class UpdateCheck:
    """Compares a cluster with the one deployed last when the app is validated.

    Not before: only then has a reference to another stack the form that the deployed template has.
    """

    def __init__(
        self,
        cluster: Construct,
        configuration: Mapping[str, Any],
        deployed: DeployedLike,
        *,
        cluster_name: str,
        version: str,
        immutable_changes: ImmutableChanges,
        fleet_is_stopped: bool,
    ) -> None:
        """Compare `configuration`, as it stands in the template of `cluster`, with `deployed`."""
        self._cluster = cluster
        self._configuration = configuration
        self._deployed = deployed
        self._cluster_name = cluster_name
        self._version = version
        self._immutable_changes = immutable_changes
        self._fleet_is_stopped = fleet_is_stopped

    def attach(self) -> None:
        """Have it run with the app's validation."""
        self._cluster.node.add_validation(cast(IValidation, self))

    def validate(self) -> list[str]:
        """Tell the whole plan as a note, and return what would be refused, both as text for the CDK."""
        stack = cdk.Stack.of(self._cluster)
        configuration = stack.resolve(self._configuration)
        name = str(stack.resolve(self._cluster_name))
        cdk.Annotations.of(self._cluster).add_info(self._plan(configuration, name))
        problems = check_update(
            configuration,
            self._deployed,
            cluster_name=name,
            version=self._version,
            immutable_changes=self._immutable_changes,
            fleet_is_stopped=self._fleet_is_stopped,
        )
        return [str(problem) for problem in problems]

    def _plan(self, configuration: Mapping[str, Any], name: str) -> str:
        known = self._deployed.cluster_name
        is_new = known not in (None, name)
        what = f"a new cluster {name} beside {known}" if is_new else f"an update of {name}"
        plan = plan_update(
            self._deployed.configuration,
            configuration,
            version_old=self._deployed.version,
            version_new=self._version,
            fleet_is_stopped=self._fleet_is_stopped,
        )
        text = new_cluster_text(plan, known, name) if is_new else plan_text(plan)
        return f"{what}; what published scripts change, `llm-fleet update-plan` tells\n{text}"
