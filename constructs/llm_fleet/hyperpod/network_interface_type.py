"""What kind of EFA interface nodes get."""

from enum import StrEnum


class NetworkInterfaceType(StrEnum):
    """What kind of EFA interface nodes get (`NetworkInterface.InterfaceType`). Compared with botocore by a test."""

    EFA = "efa"
    """EFA and the ENA device for IP."""
    EFA_ONLY = "efa-only"
    """EFA alone, without an address of the subnet for IP traffic on those cards."""
