"""The stable codes of everything for which a host is refused. A code is never reused for another failure."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn


class Code(Enum):
    """One failure, one code; the text beside it is what to do about it."""

    NO_PYTHON = (
        "LFN101",
        "give hosts the ECS-optimized Neuron AMI of Amazon Linux 2023, which has python3",
    )  # user_data.sh
    SETTINGS = ("LFN102", "deploy the stack again, so that new hosts are told anew; never write settings.json by hand")
    UNFORESEEN = ("LFN103", "this is a defect of llm-fleet: report it with `journalctl -u llm-fleet-host`")
    TIMEOUT = (
        "LFN104",
        "look at `journalctl -u llm-fleet-host` for what it was waiting for; a reboot tries anew",
    )
    DRIVER_OTHER = (
        "LFN110",
        "give hosts an AMI with the pinned driver, or let them install it (install_driver), or pin the driver that "
        "the AMI has, if the server's image goes with it",
    )
    DRIVER_INSTALL = (
        "LFN111",
        "see that hosts reach yum.repos.neuron.amazonaws.com and the repositories of Amazon Linux, and that the "
        "version is there; where dnf speaks of GPG, Neuron's key was changed; or give them an AMI that carries it",
    )
    DRIVER_LOAD = (
        "LFN112",
        "look at `dmesg` and `dkms status` on the host: the driver must be built for this kernel; take another release "
        "of the AMI",
    )
    DEVICES = (
        "LFN113",
        "terminate the instance: its hardware is not what its type has; if it happens again, tell AWS support",
    )
    MOUNTPOINT_INSTALL = (
        "LFN120",
        "see that hosts reach the repositories of Amazon Linux 2023, which are in S3; a release of the AMI before "
        "2023.9 has no mount-s3",
    )
    MOUNT = (
        "LFN121",
        "look at what Mountpoint said: bucket and region must be right, and the host's role must read the model",
    )
    MODEL_MISSING = ("LFN122", "upload the model to this very prefix, or tell the service the prefix where it is")
    MODEL_UNREADABLE = (
        "LFN123",
        "see that the host's role may read the objects and decrypt them, and that they are not in an archive class",
    )
    AGENT = ("LFN124", "look at the disk of the host: /etc/ecs must take files of root")

    @property
    def code(self) -> str:
        """E.g. `LFN110`."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What to do."""
        return self.value[1]


class Failure(Exception):
    """A reason to refuse this host."""

    def __init__(self, code: Code, message: str) -> None:
        """Take the code and what was seen, with the values."""
        super().__init__(message)
        self.code = code
        self.message = message


def fail(code: Code, message: str) -> NoReturn:
    """Refuse the host."""
    raise Failure(code, message)
