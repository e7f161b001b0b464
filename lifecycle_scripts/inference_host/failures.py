"""The error codes of inference hosts. A code is never reused for another failure."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn


class Code(Enum):
    """One code for each failure, with its remedy."""

    NO_PYTHON = (
        "LFN101",
        "use the ECS-optimized Neuron AMI of Amazon Linux 2023, which has python3",
    )  # user_data.sh
    SETTINGS = ("LFN102", "deploy the stack again, which writes new settings; do not edit settings.json")
    UNEXPECTED_ERROR = ("LFN103", "this is a defect of llm-fleet: report it with `journalctl -u llm-fleet-host`")
    TIMEOUT = (
        "LFN104",
        "read `journalctl -u llm-fleet-host` to see what it waited for; reboot the host to try again",
    )
    DRIVER_MISMATCH = (
        "LFN110",
        "use an AMI with the pinned driver, or set `install_driver: true` under `hosts`, or pin the driver of the AMI "
        "(`driver`) if the server image supports it",
    )
    DRIVER_INSTALL = (
        "LFN111",
        "check that hosts can reach yum.repos.neuron.amazonaws.com and the repositories of Amazon Linux, and that the "
        "version exists there; a GPG error means that Neuron's key changed; or use an AMI that has the driver",
    )
    DRIVER_LOAD = (
        "LFN112",
        "check `dmesg` and `dkms status` on the host: the driver must be built for this kernel; use another release "
        "of the AMI",
    )
    DEVICES = (
        "LFN113",
        "terminate the instance: it lacks devices of its instance type; if it happens again, contact AWS Support",
    )
    MOUNTPOINT_INSTALL = (
        "LFN120",
        "check that hosts can reach the repositories of Amazon Linux 2023, which are in S3; AMI releases before "
        "2023.9 have no mount-s3",
    )
    MOUNT = (
        "LFN121",
        "read the output of Mountpoint: bucket and Region must be correct, and the host's role must read the model",
    )
    MODEL_MISSING = ("LFN122", "upload the model to this prefix, or set the service to the prefix where the model is")
    MODEL_UNREADABLE = (
        "LFN123",
        "check that the host's role can read and decrypt the objects, and that no object is in an archive class",
    )
    AGENT = ("LFN124", "check the disk of the host: root must be able to write to /etc/ecs")

    @property
    def code(self) -> str:
        """E.g. `LFN110`."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """The instruction in the error message."""
        return self.value[1]


class Failure(Exception):
    """A reason to reject this host."""

    def __init__(self, code: Code, message: str) -> None:
        """Set the code and the message, with its values."""
        super().__init__(message)
        self.code = code
        self.message = message


def fail(code: Code, message: str) -> NoReturn:
    """Raise `Failure`."""
    raise Failure(code, message)
