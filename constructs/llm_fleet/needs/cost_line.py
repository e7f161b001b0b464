"""One line of what a fleet costs."""

from dataclasses import dataclass
from decimal import Decimal

from llm_fleet.catalog.prices import Price, hours_of_a_month


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """So many like things, at one price."""

    owner: str
    """Whose they are, e.g. `train/trn1` or `storage.fsx`."""
    what: str
    """What is paid for, for people, e.g. `ml.trn1.32xlarge` or `Lustre PERSISTENT_2 SSD, 250 MB/s/TiB`."""
    services: tuple[str, ...]
    """Whose prices count in the price table, the fitting one first."""
    item: str
    """Its name in the price table."""
    minimum: Decimal
    """How many there always are; GB of storage."""
    maximum: Decimal
    """How many there are at most."""
    price: Price | None
    """`None` where no price is known."""
    paid_before: bool = False
    """Whether it was paid when it was bought, so that it costs nothing more."""
    note: str = ""
    """What else is to be known of the price."""

    @property
    def hourly_minimum(self) -> Decimal | None:
        """USD an hour of what always runs; `None` where no price is known."""
        return self._hourly(self.minimum)

    @property
    def hourly_maximum(self) -> Decimal | None:
        """USD an hour when all of them run; `None` where no price is known."""
        return self._hourly(self.maximum)

    def _hourly(self, quantity: Decimal) -> Decimal | None:
        if self.paid_before or not quantity:
            return Decimal(0)
        if self.price is None:
            return None
        hourly = self.price.usd if self.price.unit == "hour" else self.price.usd / hours_of_a_month()
        return quantity * hourly
