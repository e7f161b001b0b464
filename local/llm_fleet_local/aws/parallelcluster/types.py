"""The resource types of the stand-in, and the classes that serve them."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.parallelcluster.cluster_parts import ClusterParts
from llm_fleet_local.aws.parallelcluster.cluster_template import HEAD_NODE, PART_TYPES
from llm_fleet_local.aws.parallelcluster.pcluster_cluster import PclusterCluster
from llm_fleet_local.aws.parallelcluster.provider_stand_in import ATTRIBUTES, PROPERTIES, ProviderStandIn
from llm_fleet_local.aws.parallelcluster.provider_template import PROVIDER_TYPE
from llm_fleet_local.aws.resource_provider import Request
from llm_fleet_local.aws.resources.services import Services

CLUSTER_TYPE = "Custom::PclusterCluster"
OWN_TYPES = PART_TYPES | {PROVIDER_TYPE}
_ATTRIBUTES = {PROVIDER_TYPE: ATTRIBUTES, HEAD_NODE: frozenset({"PrivateIp", "PrivateDnsName"})}


class ParallelClusterTypes:
    """Serves the provider's stand-in, its clusters and their parts."""

    def __init__(self, services: Services) -> None:
        """Use the services at one endpoint."""
        self._providers = ProviderStandIn(services)
        self._clusters = PclusterCluster(services, self._providers)
        self._parts = ClusterParts(services)

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        """Return the errors of a resource of these types, which are not for a user's template."""
        unknown = sorted(set(properties_unresolved) - PROPERTIES) if resource_type == PROVIDER_TYPE else []
        return [f"{resource_type}: unknown property {name}" for name in unknown]

    def attribute_names(self, resource_type: str) -> frozenset[str]:
        """Return the attributes of a type."""
        return _ATTRIBUTES.get(resource_type, frozenset())

    def of_type(self, resource_type: str) -> "ProviderStandIn | PclusterCluster | ClusterParts | None":
        """Return the handler of a type."""
        if resource_type == PROVIDER_TYPE:
            return self._providers
        return self._parts if resource_type in PART_TYPES else None

    def cluster(self, request: Request) -> "PclusterCluster | None":
        """Return the handler of a custom resource, if its service token is a provider stand-in's."""
        token = request.properties.get("ServiceToken")
        is_own = isinstance(token, str) and ":function:pcluster-cfn-" in token
        return self._clusters if is_own else None

    def cluster_exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return whether a cluster with this name exists."""
        return self._clusters.exists(physical_id, region, account)
