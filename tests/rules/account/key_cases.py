"""Responses of KMS about a key, and the expected reports."""

from llm_fleet.rules.account.keys import ExistingKey, check_key
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import Problem
from tests.rules.account.cases import REGION, Case


def key(region: str = REGION, **changed: str) -> list[Problem]:
    given = {"state": "Enabled", "usage": "ENCRYPT_DECRYPT", "spec": "SYMMETRIC_DEFAULT", **changed}
    return check_key(_KEY, ExistingKey(**given), region=region)


_KEY = "arn:aws:kms:us-west-2:111122223333:key/1"
KEYS = [
    Case("good", key()),
    Case("of another Region", key("eu-west-1"), CheckCode.KEY, "is in us-west-2, but the fleet is in eu-west-1"),
    Case("gone", check_key(_KEY, None, region=REGION), CheckCode.KEY, "does not exist", "list-keys --region us-west-2"),
    Case("disabled", key(state="Disabled"), CheckCode.KEY, "enable-key --key-id 1 --region us-west-2"),
    Case(
        "pending deletion",
        key(state="PendingDeletion"),
        CheckCode.KEY,
        "is in the state PendingDeletion",
        "cancel-key-deletion --key-id 1",
        "enable-key --key-id 1",
    ),
    Case("without its material", key(state="PendingImport"), CheckCode.KEY, "import-key-material"),
    Case("of a store", key(state="Unavailable"), CheckCode.KEY, "describe-key --key-id 1"),
    Case("for signatures", key(usage="SIGN_VERIFY", spec="RSA_2048"), CheckCode.KEY, "RSA_2048 for SIGN_VERIFY"),
    Case("asymmetric", key(spec="RSA_2048"), CheckCode.KEY, "is not a symmetric encryption key"),
]
