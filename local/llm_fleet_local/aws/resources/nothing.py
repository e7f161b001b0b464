"""Types that create nothing: the CDK's metadata, and wait conditions, whose signals count as received."""

import uuid

from llm_fleet_local.aws.resource_provider import Created, Level, Request

NOTHING_TYPES = frozenset(
    {"AWS::CDK::Metadata", "AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle"}
)


class Nothing:
    """Assigns an id and creates nothing."""

    def create(self, request: Request) -> Created:
        """Assign an id."""
        return Created(physical_id=f"{request.logical_id}-{uuid.uuid4().hex[:8]}", attributes={}, level=Level.NONE)

    def update(self, request: Request) -> Created:
        """Keep the id."""
        return Created(physical_id=request.physical_id or request.logical_id, attributes={}, level=Level.NONE)

    def delete(self, request: Request) -> None:
        """Do nothing."""

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return True: a resource of these types always exists."""
        return True
