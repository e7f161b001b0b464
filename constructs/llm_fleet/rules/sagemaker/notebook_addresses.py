"""What a notebook instance takes of a compute subnet."""

from llm_fleet.rules.network_claim import AddressClaim


def notebook_claim(owner: str, *, availability_zone_id: str | None) -> AddressClaim:
    """Return the claim of one interface, with one address (CreateNotebookInstance: SageMaker makes one in the VPC)."""
    return AddressClaim(
        owner=owner,
        what="notebook instance",
        count=1,
        addresses_each=1,
        availability_zone_id=availability_zone_id,
    )
