"""What one owner takes of a compute subnet: so many things of so many addresses each."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.instances import facts_of
from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.tokens import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressClaim:
    """Addresses of one compute subnet, and network interfaces in it, that `owner` needs."""

    owner: str
    """Who needs them, in the user's words, e.g. `train/worker-group`."""
    what: str
    """What takes them, e.g. `ml.p5.48xlarge` or `FSx for Lustre`."""
    count: int
    """How many of them."""
    addresses_each: int
    """Addresses that each takes."""
    interfaces_each: int | None = None
    """Network interfaces that each takes. Default: one for each address."""
    availability_zone_id: str | None = None
    """Where, e.g. `usw2-az4`. Default: the first AZ of the network."""
    replaceable: bool = False
    """Whether one of them may be replaced while the others run, so that the subnet must have room for one more."""
    assumption: str = ""
    """What had to be assumed, because no source tells the number; empty when nothing."""

    @property
    def addresses(self) -> int:
        """Addresses of all of them."""
        return self.count * self.addresses_each

    @property
    def interfaces(self) -> int:
        """Network interfaces of all of them."""
        return self.count * (self.addresses_each if self.interfaces_each is None else self.interfaces_each)

    @classmethod
    def for_instances(
        cls,
        *,
        owner: str,
        instance_types: str | Sequence[str],
        count: int,
        availability_zone_id: str | None = None,
    ) -> "AddressClaim":
        """Return what `count` nodes of a Slurm group take: an address for each network card of the instance type.

        Of several types (a flexible group) the one with the most cards counts. `instance_types` are `ml.` names. A type
        whose cards no source tells counts as one card, and the claim's `assumption` says so. A count or type that
        is known only at deploy time claims nothing.
        """
        types = [instance_types] if isinstance(instance_types, str) else list(instance_types)
        if is_unresolved(count) or is_unresolved(types) or not types:
            return cls(owner=owner, what="nodes known at deploy time", count=0, addresses_each=0)
        cards = {name: facts.network_cards for name in types if (facts := facts_of(name))}
        default = address_facts().addresses_of_unknown_instance
        unknown = [name for name in types if cards.get(name) is None]
        largest = max(types, key=lambda name: cards.get(name) or default)
        return cls(
            owner=owner,
            what=largest,
            count=count,
            addresses_each=cards.get(largest) or default,
            availability_zone_id=availability_zone_id,
            replaceable=True,
            assumption=f"no source tells the network cards of {', '.join(unknown)}: taken as {default}"
            if unknown
            else "",
        )

    @classmethod
    def for_file_system(
        cls, *, owner: str, what: str = "FSx", availability_zone_id: str | None = None
    ) -> "AddressClaim":
        """Return what an FSx file system takes at the least; no source tells how many more a large one takes."""
        return cls(
            owner=owner,
            what=what,
            count=1,
            addresses_each=address_facts().addresses_of_file_system,
            availability_zone_id=availability_zone_id,
        )
