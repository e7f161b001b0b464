"""The command that asks AWS for more."""

from math import ceil


def request_command(service: str, code: str, desired: float, region: str) -> str:
    """Return the command line that asks for a quota of `desired`, rounded up, in `region`."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service} --quota-code {code} "
        f"--desired-value {ceil(desired)} --region {region}"
    )
