"""KMS keys that exist before a fleet uses them."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingKey:
    """One key, as DescribeKey returns it."""

    state: str
    """E.g. `Enabled`. Source: model botocore kms KeyState"""
    usage: str
    """E.g. `ENCRYPT_DECRYPT`. Source: model botocore kms KeyUsageType"""
    spec: str
    """E.g. `SYMMETRIC_DEFAULT`. Source: model botocore kms KeySpec"""


@rule
def check_key(arn: str, key: ExistingKey | None, *, region: str, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return why data cannot be encrypted with the key of that ARN; `key` is `None` if it does not exist.

    CloudWatch Logs, FSx, S3 and RDS use symmetric encryption keys of their own Region.
    Source: document https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    Source: document https://docs.aws.amazon.com/kms/latest/developerguide/symm-asymm-choose-key-spec.html
    """
    named, with_id = arn.split(":")[3], f"--key-id {arn.rpartition('/')[2]} --region {region}"
    usable = f"an enabled symmetric encryption key of {region}"
    choose = f"write the ARN of {usable}, or remove `key`"
    if named != region:
        why, remedy = f"is in {named}, but the fleet is in {region}", choose
    elif key is None:
        why, remedy = "does not exist", f"{choose}; `aws kms list-keys --region {region}` lists the keys"
    elif (key.usage, key.spec) != ("ENCRYPT_DECRYPT", "SYMMETRIC_DEFAULT"):
        why, remedy = f"is not a symmetric encryption key, but {key.spec} for {key.usage}", choose
    elif key.state != "Enabled":
        why, remedy = f"is in the state {key.state}, and cannot encrypt", _restored(key.state, with_id)
    else:
        return
    yield Problem(
        code=CheckCode.KEY,
        path=path,
        message=f"the KMS key {arn} {why}",
        value=arn,
        allowed=usable,
        remedy=remedy,
    )


def _restored(state: str, with_id: str) -> str:
    """Return how a key gets the state `Enabled`.

    Source: document https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
    """
    enable = f"`aws kms enable-key {with_id}`"
    return {
        "Disabled": f"run {enable}",
        "PendingDeletion": f"run `aws kms cancel-key-deletion {with_id}`, then {enable}",
        "PendingImport": "import its key material again, with `aws kms import-key-material`",
    }.get(state, f"wait until `aws kms describe-key {with_id}` shows `Enabled`, or write another key")
