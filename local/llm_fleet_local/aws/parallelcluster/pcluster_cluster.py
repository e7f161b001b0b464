"""`Custom::PclusterCluster`: does what AWS's provider does, up to the start of instances."""

from collections.abc import Callable

from llm_fleet_local.aws.parallelcluster.cluster_stack import ClusterStack
from llm_fleet_local.aws.parallelcluster.description import described
from llm_fleet_local.aws.parallelcluster.handed_over import HandedOver, Rejected, check_new_name
from llm_fleet_local.aws.parallelcluster.provider_stand_in import ProviderStandIn
from llm_fleet_local.aws.parallelcluster.verdict import Decision, messages
from llm_fleet_local.aws.resource_provider import Created, Level, NothingChanged, Request, ResourceFailed
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.parallelcluster.answers import Finding

_NOTE = (
    "STAND-IN: checked by ParallelCluster's own schema, validators and update policies; its stack holds "
    "stand-ins only, no instance was started and no script ran"
)


class PclusterCluster:
    """Creates, updates and deletes clusters.

    Source: document https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cloudformation/custom_resource/cluster.yaml
    (2026-11)
    """

    def __init__(self, services: Services, providers: ProviderStandIn) -> None:
        """Serve clusters of `providers`, with the services at one endpoint."""
        self._services = services
        self._providers = providers
        self._verdict = Decision(services)

    def create(self, request: Request) -> Created:
        """Check a configuration and create the cluster's stack."""
        return self._answered(self._create, request, ResourceFailed)

    def update(self, request: Request) -> Created:
        """Check a configuration and each change, then update the cluster's stack.

        Source: recorded serverless/serverless#9240, "Modifying service token is not allowed." (2021-04-04)
        """
        if (request.old_properties or {}).get("ServiceToken") != request.properties.get("ServiceToken"):
            raise NothingChanged("Modifying service token is not allowed.")
        return self._answered(self._update, request, NothingChanged)

    def delete(self, request: Request) -> None:
        """Delete the cluster's stack, unless it must be retained."""
        if request.properties.get("DeletionPolicy") == "Retain":
            return
        try:
            self._stack(request, request.physical_id or "").delete()
        except Rejected as rejected:
            raise ResourceFailed(_failed(rejected)) from rejected

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return whether the cluster's stack exists."""
        return ClusterStack(self._services, region, physical_id).version() is not None

    def _create(self, request: Request) -> Created:
        # Source: code of ParallelCluster 3.16.1, pcluster/models/cluster.py, Cluster.validate_create_request
        handed = HandedOver(request, "create")
        check_new_name(handed.name)
        stack = self._stack(request, handed.name)
        if stack.describe():
            raise Rejected(f"Bad Request: Cluster {handed.name} already exists.")
        findings = self._verdict.validate(handed, request.region)
        version = self._version(request)
        stack.create(handed.configuration, version, rolls_back=handed.rolls_back)
        return _created(handed, stack, version, findings)

    def _update(self, request: Request) -> Created:
        # Source: code of ParallelCluster 3.16.1, pcluster/api/controllers/cluster_operations_controller.py,
        # update_cluster
        handed = HandedOver(request, "update")
        if handed.name != request.physical_id:
            raise Rejected("Cannot update the ClusterName in the properties.")
        stack, version = self._stack(request, handed.name), self._version(request)
        made_by = stack.version()
        if made_by is None:
            raise Rejected(
                f"Cluster '{handed.name}' does not exist or belongs to an incompatible ParallelCluster major version."
            )
        if made_by != version:
            raise Rejected(
                f"Bad Request: the update can be performed only with the same ParallelCluster version ({made_by}) "
                "used to create the cluster."
            )
        findings = self._verdict.validate(handed, request.region)
        if self._verdict.changes(stack.deployed()["ClusterConfiguration"], handed.configuration):
            stack.update(handed.configuration, version)
        return _created(handed, stack, version, findings)

    def _answered(self, act: Callable[[Request], Created], request: Request, failure: type[ResourceFailed]) -> Created:
        try:
            return act(request)
        except Rejected as rejected:
            raise failure(_failed(rejected)) from rejected

    def _version(self, request: Request) -> str:
        # Source: emulation, only functions of ParallelCluster's providers can be called
        version = self._providers.version(request.properties.get("ServiceToken"))
        if version is None:
            raise Rejected(f"the function {request.properties.get('ServiceToken')} does not exist")
        return version

    def _stack(self, request: Request, name: str) -> ClusterStack:
        return ClusterStack(self._services, request.region, name)


def _failed(rejected: Rejected) -> str:
    return f"Received response status [FAILED] from custom resource. Message returned: {rejected}"


def _created(handed: HandedOver, stack: ClusterStack, version: str, findings: list[Finding]) -> Created:
    found = stack.describe()
    assert found is not None
    attributes = described(found, handed.configuration, version) | {"validationMessages": messages(findings)}
    return Created(physical_id=handed.name, attributes=attributes, level=Level.RECORDED, notes=(_NOTE,))
