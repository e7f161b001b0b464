"""Numbers as people read them."""

from decimal import ROUND_HALF_UP, Decimal

_CENT = Decimal("0.01")
_SMALL = Decimal(1)


def in_dollars(usd: Decimal | None) -> str | None:
    """Return `$1,234.56`, with four places below a dollar; `None` for what is not known."""
    if usd is None:
        return None
    places = _CENT if usd >= _SMALL or not usd else Decimal("0.0001")
    return f"${usd.quantize(places, rounding=ROUND_HALF_UP):,}"


def dollars_range(low: Decimal, high: Decimal) -> str:
    """Return `$1.00`, or `$1.00 to $2.00` where both differ."""
    return f"{in_dollars(low)}" if low == high else f"{in_dollars(low)} to {in_dollars(high)}"


def count_range(low: int, high: int) -> str:
    """Return `4`, or `0 to 4` where both differ."""
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def as_number(value: Decimal | None) -> float | None:
    """Return `value` for JSON, to a hundredth of a cent."""
    return None if value is None else float(round(value, 4))
