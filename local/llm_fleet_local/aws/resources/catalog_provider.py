"""The engine's resource provider: tables for most types, code for a few.

Source: emulation, a type without a table is rejected by name
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from llm_fleet_local.aws.execution_roles import require, without_role
from llm_fleet_local.aws.parallelcluster.types import CLUSTER_TYPE, OWN_TYPES, ParallelClusterTypes
from llm_fleet_local.aws.resource_provider import Created, Request, ResourceFailed
from llm_fleet_local.aws.resources.api_resource import ApiResource
from llm_fleet_local.aws.resources.custom.custom_resource import CustomResource, is_custom
from llm_fleet_local.aws.resources.nothing import NOTHING_TYPES, Nothing
from llm_fleet_local.aws.resources.schemas import name_problems
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.aws.resources.spec import type_specs


class _Serves(Protocol):
    def create(self, request: Request) -> Created: ...

    def update(self, request: Request) -> Created: ...

    def delete(self, request: Request) -> None: ...

    def exists(self, physical_id: str, region: str, account: str) -> bool: ...


class CatalogProvider:
    """Creates, updates and deletes resources of the types in the tables. Rejects everything else.

    `endpoint_url` is where the emulated services listen, e.g. `http://localhost:5070`; `install_moto_fixes` of
    `llm_fleet_local.aws.resources.moto_fixes` must have run in the process that serves it.
    """

    def __init__(self, endpoint_url: str) -> None:
        """Use the services at one endpoint."""
        self.services = Services(endpoint_url)
        self._custom = CustomResource(self.services)
        self._nothing = Nothing()
        self._parallelcluster = ParallelClusterTypes(self.services)
        self._of_type = {name: ApiResource(spec, self.services) for name, spec in type_specs().items()}
        self._home: dict[str, tuple[str, str]] = {}

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        """Return an unknown type, unknown properties and missing ones, before anything is created."""
        if is_custom(resource_type):
            missing = "ServiceToken" not in properties_unresolved
            return [f"{resource_type}: property ServiceToken is required"] if missing else []
        if resource_type in NOTHING_TYPES:
            return []
        if resource_type in OWN_TYPES:
            return self._parallelcluster.check(resource_type, properties_unresolved)
        if resource_type not in self._of_type:
            return [f"{resource_type}: the AWS emulator does not support the resource type"]
        return [f"{resource_type}: {problem}" for problem in name_problems(resource_type, properties_unresolved)]

    def attribute_names(self, resource_type: str) -> frozenset[str] | None:
        """Return the attributes of a type; `None` for custom resources, which can have any."""
        if is_custom(resource_type):
            return None
        if resource_type in OWN_TYPES:
            return self._parallelcluster.attribute_names(resource_type)
        found = type_specs().get(resource_type)
        return frozenset(found.attributes) if found else frozenset()

    def replacing(self, resource_type: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
        """Return the properties whose change replaces the resource, from its schema and its table."""
        found = self._of_type.get(resource_type)
        return frozenset(path[0] for path in found.fixed(before, after)) if found else frozenset()

    def create(self, request: Request) -> Created:
        """Create a resource, or raise `ResourceFailed`."""
        with _function_of(request):
            created = self._requested(request).create(request)
        self._home[created.physical_id] = (request.region, request.account)
        return created

    def update(self, request: Request) -> Created:
        """Change a resource in place, or raise `ReplacementNeeded` or `ResourceFailed`."""
        with _function_of(request):
            updated = self._requested(request).update(request)
        self._home[updated.physical_id] = (request.region, request.account)
        return updated

    def delete(self, request: Request) -> None:
        """Delete a resource, or raise `ResourceFailed`."""
        with _function_of(request):
            self._requested(request).delete(request)
        self._home.pop(request.physical_id or "", None)

    def exists(self, resource_type: str, physical_id: str) -> bool:
        """Return whether the service has a resource, in its Region or, if that is unknown, in all Regions in use."""
        home = self._home.get(physical_id)
        places = [home] if home else sorted(set(self._home.values()))
        if resource_type == CLUSTER_TYPE:
            return any(self._parallelcluster.cluster_exists(physical_id, *place) for place in places)
        resource = self._resource(resource_type)
        return any(resource.exists(physical_id, region, account) for region, account in places)

    def _requested(self, request: Request) -> "_Serves":
        if is_custom(request.resource_type):
            return self._parallelcluster.cluster(request) or self._custom
        return self._resource(request.resource_type)

    def _resource(self, resource_type: str) -> "_Serves":
        if is_custom(resource_type):
            return self._custom
        if own := self._parallelcluster.of_type(resource_type):
            return own
        if resource_type in NOTHING_TYPES:
            return self._nothing
        if resource_type not in self._of_type:
            raise ResourceFailed(f"{resource_type}: the AWS emulator does not support the resource type")
        return self._of_type[resource_type]


@contextmanager
def _function_of(request: Request) -> Generator[None]:
    """Require that the stack's role may invoke the function of a custom resource, which then has its own role."""
    if not is_custom(request.resource_type):
        yield
        return
    require("lambda:InvokeFunction", str(request.properties["ServiceToken"]), region=request.region)
    with without_role():
        yield
