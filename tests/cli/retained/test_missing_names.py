"""Keys of the fleet file that name resources which do not exist any more."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.retained.adoption import missing_names
from llm_fleet.cli.retained.survey import Description, Retained
from llm_fleet.cli.retained.traces import Trace
from llm_fleet.fleet_file.load import parse_fleet

_KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"
_ARN = f"arn:aws:kms:us-west-2:111122223333:key/{_KEY}"
_FLEET = parse_fleet(f"fleet: train\nregion: us-west-2\nnetwork: {{az: usw2-az4}}\nstorage: {{key: '{_ARN}'}}\n")
_ITEM = Retained(
    kind="KMS key",
    trace=Trace(resource_type="", id=_KEY, logical_id="", stack="train-storage", since=None),
    described=Description(),
    fleet="train",
)


def _missing(answer: str, **items: tuple[Retained, ...]) -> list[str]:
    """Return the missing names if KMS responds with the error or state `answer`; empty: it may not be called."""

    def describe_key(KeyId: str) -> dict[str, Any]:
        assert answer
        assert KeyId == _ARN
        if answer.endswith("Exception"):
            raise ClientError({"Error": {"Code": answer, "Message": "no"}}, "DescribeKey")
        return {"KeyMetadata": {"KeyState": answer, "CreationDate": None}}

    clients = SimpleNamespace(client=lambda _: SimpleNamespace(describe_key=describe_key))  # pyright: ignore
    return missing_names(cast(AwsClients, clients), _FLEET, **{"exists": (), **items})


@pytest.mark.parametrize(
    ("answer", "is_missing"),
    [
        ("Enabled", False),
        ("PendingDeletion", True),
        ("NotFoundException", True),
        ("AccessDeniedException", False),  # E.g. a key of another account.
    ],
)
def test_a_key_is_missing_if_kms_says_so(answer: str, is_missing: bool):
    assert _missing(answer) == ([f"storage.key: {_ARN}"] if is_missing else [])


def test_what_was_found_or_deleted_is_not_queried():
    assert _missing("", exists=(_ITEM,)) == []
    assert _missing("", deleted=(_ITEM,)) == [f"storage.key: {_ARN}"]
