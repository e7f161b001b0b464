"""The stable codes of everything that a node refuses. A code is never reused for another failure."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn

_PUT_BACK = "put the published version back (the bucket keeps versions) and replace the node"


class Code(Enum):
    """One failure, one code; the text beside it is what to do about it."""

    NO_PYTHON = ("LFN01", "use an AMI that carries Python 3.9 to 3.13, or name one in LLM_FLEET_PYTHON")  # enter.sh
    MANIFEST_MISSING = ("LFN02", _PUT_BACK)
    MANIFEST_INVALID = ("LFN03", f"fleet.json is never written by hand: {_PUT_BACK}")
    MANIFEST_NEWER = (
        "LFN04",
        "deploy the stack again with one release of llm-fleet, so that scripts and manifest match",
    )
    ROLE_UNKNOWN = ("LFN05", "use one of the roles Controller, Login and Compute")
    FILE_CHANGED = ("LFN06", f"leave published scripts as they are: {_PUT_BACK}")
    BUNDLE_MIXED = ("LFN07", f"scripts and manifest must be of one bundle: {_PUT_BACK}")
    ARGUMENTS = ("LFN08", "let HyperPod start on_init_complete.sh or on_create.sh, which say the hook")
    PLATFORM_FILE = ("LFN10", "replace the node; if it happens again, show the file to AWS support")
    OTHER_CLUSTER = ("LFN11", "point the cluster's LifeCycleConfig at its own bundle")
    GROUP_UNKNOWN = ("LFN12", "deploy the stack again, so that the bundle knows every group of the cluster")
    CONTRADICTION = (
        "LFN13",
        "compare the files named here with the cluster's groups; replace the node if they are stale",
    )
    NOBODY_KNOWS = ("LFN14", "look at the files named here; replace the node if the platform has not written them")
    OTHER_HOOK = ("LFN20", "set the group's hook in the fleet file or construct, and deploy the stack again")
    NO_STEPS = (
        "LFN21",
        "use OnInitComplete, with which the AMI configures Slurm; OnCreate has no steps in this release",
    )
    REPORT = ("LFN30", "look at the disk of the node: the report could not be written")
    COMMAND = (
        "LFN31",
        "look at what the command said, above and in the log; run the step again by --only once it is mended",
    )
    UNFORESEEN = ("LFN99", "this is a defect of llm-fleet: report it with the text above")

    def __init__(self, code: str, remedy: str) -> None:
        self.code = code
        self.remedy = remedy


class Failure(Exception):
    """Why the node is not fit for work."""

    def __init__(self, code: Code, cause: str, *, final: bool = False) -> None:
        """Take the stable code and what happened here, with the values that matter.

        `final`: another attempt would end the same, so none is made.
        """
        super().__init__(f"{code.code}  {cause}\n  remedy: {code.remedy}")
        self.code = code
        self.cause = cause
        self.final = final


def fail(code: Code, cause: str, *, final: bool = False) -> NoReturn:
    """Raise the failure; `final` when another attempt would end the same."""
    raise Failure(code, cause, final=final)
