"""Ids and ARNs, which the CDK would take apart, or refuse in words of its own."""

import re
from dataclasses import dataclass
from typing import Any

from llm_fleet.config.wrong_value import wrong_value
from llm_fleet.rules.codes import Code


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """One kind of text by its form."""

    noun: str
    pattern: str
    example: str

    def parse(self, written: Any) -> Any:
        """Return `written`; refuse text of another form. What is no text is left for pydantic to refuse."""
        if not isinstance(written, str) or re.fullmatch(self.pattern, written):
            return written
        raise wrong_value(
            Code.TEXT_FORM,
            f"this is not {self.noun}",
            allowed=f"text of the form of `{self.example}`",
            remedy=f"write it whole, e.g. `{self.example}`",
        )

    def json_schema(self) -> dict[str, Any]:
        """Return what an editor needs to know of it."""
        return {"type": "string", "pattern": f"^{self.pattern}$", "examples": [self.example]}


_ARN = "arn:aws[a-z-]*"
KEY_ARN = TextForm(
    noun="the ARN of a KMS key",
    pattern=f"{_ARN}:kms:[a-z0-9-]+:[0-9]{{12}}:key/[A-Za-z0-9-]+",
    example="arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef",
)
"""Of the key itself: IAM knows no alias, so that a role could not be let use it."""
ROLE_ARN = TextForm(
    noun="the ARN of an IAM role",
    pattern=f"{_ARN}:iam::[0-9]{{12}}:role/[A-Za-z0-9_+=,.@/-]+",
    example="arn:aws:iam::111122223333:role/hyperpod-nodes",
)
POLICY_ARN = TextForm(
    noun="the ARN of a managed policy",
    pattern=f"{_ARN}:iam::([0-9]{{12}}|aws):policy/[A-Za-z0-9_+=,.@/-]+",
    example="arn:aws:iam::111122223333:policy/boundary",
)
SECRET_ARN = TextForm(
    noun="the ARN of a Secrets Manager secret",
    pattern=f"{_ARN}:secretsmanager:[a-z0-9-]+:[0-9]{{12}}:secret:[A-Za-z0-9/_+=.@-]+",
    example="arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
)
SUBNET_ID = TextForm(
    noun="the id of a subnet", pattern="subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})", example="subnet-0123456789abcdef0"
)
SECURITY_GROUP_ID = TextForm(noun="the id of a security group", pattern="sg-[0-9a-z]+", example="sg-0123456789abcdef0")
