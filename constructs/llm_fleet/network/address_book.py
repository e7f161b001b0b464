"""Keeps what has been set aside of a network's compute subnets."""

from collections.abc import Iterable, Mapping

import jsii
from constructs import IValidation

from llm_fleet.rules.addresses import AddressPlan, check_addresses, plan_addresses
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


@jsii.implements(IValidation)
class AddressBook:
    """All claims on a network, and whether they fit together. Also the network's validation at synth."""

    def __init__(
        self,
        *,
        subnet_cidrs: Mapping[str, str | None],
        other_interfaces: Mapping[str, int] | None = None,
        interface_quota: int | None = None,
        region: str | None = None,
        existing: bool = False,
    ) -> None:
        """Open an empty book; the parameters are those of `plan_addresses` and `check_addresses`."""
        self._subnet_cidrs = subnet_cidrs
        self._other_interfaces = other_interfaces
        self._interface_quota = None if is_unresolved(interface_quota) else interface_quota
        self._region = None if is_unresolved(region) else region
        self._existing = existing
        self._claims: list[AddressClaim] = []

    @property
    def plan(self) -> AddressPlan:
        """What all claims so far need."""
        return plan_addresses(
            self._claims,
            subnet_cidrs=self._subnet_cidrs,
            other_interfaces=self._other_interfaces,
            interface_quota=self._interface_quota,
            existing=self._existing,
        )

    def reserve(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Enter `claims` and return what does not fit now."""
        self._claims += claims
        return self.problems()

    def problems(self) -> list[Problem]:
        """Return what does not fit, each with a path that begins with `network`."""
        return [problem.under("network") for problem in check_addresses(self.plan, region=self._region)]

    def validate(self) -> list[str]:
        """Return the problems as text, for the CDK."""
        return [str(problem) for problem in self.problems()]
