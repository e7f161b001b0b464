"""AWS managed policies exist, so that a misspelt name fails as it would on AWS.

moto loads its list only if a setting is set before its IAM backend is created; an earlier backend is reset.

Source: emulation, moto's own list of AWS managed policies
"""

import os

from moto.iam.models import iam_backends


def install() -> None:
    """Load AWS's managed policies into every account."""
    if os.environ.get("MOTO_IAM_LOAD_MANAGED_POLICIES", "").lower() == "true":
        return
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    for account in iam_backends.values():
        for backend in account.values():
            backend.reset()
