"""Whose a key is, is looked up among the IAMs that there are.

moto looks through all partitions and so makes the IAM of each, with all AWS managed policies, half a second a process.

Source: emulation, speed alone
"""

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.iam import models


def install() -> None:
    """Stop the search here."""
    models.get_account_id_from = _account_of


def _account_of(access_key: str) -> str:
    for account_id, account in list(models.iam_backends.items()):
        if any(access_key in backend.access_keys for backend in list(account.values())):
            return account_id
    return DEFAULT_ACCOUNT_ID
