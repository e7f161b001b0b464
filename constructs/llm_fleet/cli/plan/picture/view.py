"""What readers of resources are given: the assembly, and how to ask it."""

from collections.abc import Iterator
from typing import Any

from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.references import References
from llm_fleet.cli.plan.picture.resource import Resource

_POLICY = ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy")
_HELPERS = frozenset(
    {
        "AWS::IAM::Role",
        "AWS::IAM::InstanceProfile",
        "AWS::ECS::TaskDefinition",
        "AWS::ECS::CapacityProvider",
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::EC2::LaunchTemplate",
        "AWS::SageMaker::Model",
        "AWS::SageMaker::EndpointConfig",
        "AWS::SageMaker::NotebookInstanceLifecycleConfig",
        "Custom::LlmFleetBundle",
        *_POLICY,
    }
)
"""Types that belong to what they are named in, and get no card."""


class View:
    """The assembly by types, with what belongs together."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.references = References(assembly)
        self._policies_of: dict[str, list[Resource]] = {}
        for policy in self.of_type(*_POLICY):
            for role in self.named(policy, policy.properties.get("Roles")):
                self._policies_of.setdefault(role.key, []).append(policy)

    def of_type(self, *types: str) -> Iterator[Resource]:
        """Give every resource of `types`."""
        return (found for found in self.assembly.resources() if found.type in types)

    def named(self, resource: Resource, value: Any, *types: str) -> list[Resource]:
        """Return the resources that `value`, a part of `resource`, refers to; of `types`, if any are given."""
        found = self.references.of(value, resource.stack)
        return [one for one in found if not types or one.type in types]

    def places(self, resource: Resource, value: Any) -> tuple[str, ...]:
        """Return the keys of the subnets in `value`: of this assembly, or ids of those that exist already."""
        made = [subnet.key for subnet in self.named(resource, value, "AWS::EC2::Subnet")]
        existing = [text for text in self.references.texts(value) if text.startswith("subnet-")]
        return tuple(dict.fromkeys([*made, *existing]))

    def body(self, resource: Resource) -> list[Resource]:
        """Return `resource` with everything that belongs to it: its role, its policies, its launch template."""
        found = {resource.key: resource}
        left = [resource]
        while left:
            one = left.pop(0)
            for part in [*self.named(one, _without_provider(one)), *self._policies_of.get(one.key, ())]:
                if part.type in _HELPERS and part.key not in found:
                    found[part.key] = part
                    left.append(part)
        return list(found.values())


def _without_provider(resource: Resource) -> dict[str, Any]:
    """Return the properties of `resource` without the function that makes it, whose rights are not its own."""
    return {name: value for name, value in resource.properties.items() if name != "ServiceToken"}
