"""The account of an access key is looked up in the existing IAM backends.

moto searches all partitions, so it creates the IAM backend of each with all AWS managed policies: half a second per
process.

Source: emulation, for speed only
"""

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.iam import models


def install() -> None:
    """Search only the existing backends."""
    models.get_account_id_from = _account_of


def _account_of(access_key: str) -> str:
    for account_id, account in list(models.iam_backends.items()):
        if any(access_key in backend.access_keys for backend in list(account.values())):
            return account_id
    return DEFAULT_ACCOUNT_ID
