"""`LocalAws::ParallelCluster::Provider`: replaces the provider's function, role and layer."""

from typing import Any

from llm_fleet_local.aws.resource_provider import Created, Level, Request
from llm_fleet_local.aws.resources.services import Services

PROPERTIES = frozenset({"Version", "FunctionName", "AdditionalIamPolicies", "CustomLambdaRole", "CustomBucket"})
ATTRIBUTES = frozenset({"Arn", "LayerArn"})
_NOTE = "STAND-IN for the provider of AWS ParallelCluster: it checks clusters with ParallelCluster's own code, "
"boots none"


class ProviderStandIn:
    """Records the providers. Their functions' ARNs are the service tokens of clusters."""

    def __init__(self, services: Services) -> None:
        """Look up policies at one endpoint."""
        self._services = services
        self._versions: dict[str, str] = {}

    def version(self, token: Any) -> str | None:
        """Return the version of the provider with this service token; `None` for an unknown token."""
        return self._versions.get(token) if isinstance(token, str) else None

    def create(self, request: Request) -> Created:
        """Check that its policies exist, and assign a function ARN."""
        return self._kept(request)

    def update(self, request: Request) -> Created:
        """Set the new version and policies."""
        return self._kept(request)

    def delete(self, request: Request) -> None:
        """Forget it."""
        self._versions.pop(request.physical_id or "", None)

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return whether the provider exists."""
        return physical_id in self._versions

    def _kept(self, request: Request) -> Created:
        given = request.properties
        for arn in given["AdditionalIamPolicies"]:
            if arn:
                self._services.call("iam", request.region, "GetPolicy", {"PolicyArn": arn})
        if given["CustomLambdaRole"]:
            name = str(given["CustomLambdaRole"]).rsplit("/", 1)[-1]
            self._services.call("iam", request.region, "GetRole", {"RoleName": name})
        place = f"{request.stack_id.split(':')[1]}:lambda:{request.region}:{request.account}"
        arn = f"arn:{place}:function:{given['FunctionName']}"
        self._versions[arn] = str(given["Version"])
        layer = str(given["FunctionName"]).replace("pcluster-cfn-", "PCLayer-")
        attributes = {"Arn": arn, "LayerArn": f"arn:{place}:layer:{layer}:1"}
        return Created(physical_id=arn, attributes=attributes, level=Level.RECORDED, notes=(_NOTE,))
