"""Tells people, in words."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

_LONGEST_SUBJECT = 100
"""Of an SNS message's subject: API_Publish, which also wants ASCII without line ends."""


class Teller:
    """The watch's topic."""

    def __init__(self, sns: "SNSClient", topic_arn: str, watch: str) -> None:
        """`watch`: its name, which each message says."""
        self._sns = sns
        self._topic_arn = topic_arn
        self._watch = watch

    def tell(self, *, about: str, what: str, words: Mapping[str, str | None]) -> None:
        """Publish a message; `what` is one word that subscriptions can filter by, as they can by job and watch.

        After a crash the same may be told twice, and never not at all: it is recorded as told afterwards.
        """
        subject = f"{what}: {about}".encode("ascii", "replace").decode()[:_LONGEST_SUBJECT]
        lines = [f"{name}: {value}" for name, value in words.items() if value is not None]
        named = {"watch": self._watch, "about": about, "what": what}
        self._sns.publish(
            TopicArn=self._topic_arn,
            Subject=subject,
            Message="\n".join([subject, "", *lines, f"watch: {self._watch}"]),
            MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in named.items()},
        )
