"""A simulated clock, and a standard queue: visibility timeout, redelivery, dead-letter queue."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

VISIBILITY = 720
RECEIVES = 5


@dataclass
class Clock:
    """Simulated seconds since 1970."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass
class Message:
    """One message of the queue."""

    id: str
    body: str
    visible: float
    receives: int = 0


@dataclass
class Queue:
    """Random order and at-least-once delivery, as documented for standard queues."""

    clock: Clock
    chance: random.Random
    messages: dict[str, Message] = field(default_factory=lambda: {})
    aside: list[Message] = field(default_factory=lambda: [])
    sent: int = 0

    def send_message(self, *, QueueUrl: str, MessageBody: str, DelaySeconds: int = 0) -> None:
        assert QueueUrl == "https://queue"
        assert isinstance(DelaySeconds, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        assert 0 <= DelaySeconds <= 900
        self.put(MessageBody, DelaySeconds)

    def put(self, body: str, delay: float) -> None:
        self.sent += 1
        message = Message(id=f"m{self.sent}", body=body, visible=self.clock.now + delay)
        self.messages[message.id] = message

    def receive(self) -> dict[str, Any] | None:
        """Return one visible message as a batch event of the function, and hide it."""
        seen = [message for message in self.messages.values() if message.visible <= self.clock.now]
        while seen:
            message = seen.pop(self.chance.randrange(len(seen)))
            if message.receives >= RECEIVES:
                self.aside.append(self.messages.pop(message.id))
                continue
            message.receives += 1
            message.visible = self.clock.now + VISIBILITY
            return {"Records": [{"messageId": message.id, "body": message.body}]}
        return None

    def done(self, batch: dict[str, Any], answer: dict[str, Any]) -> None:
        """Delete the messages that did not fail."""
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for record in batch["Records"]:
            if record["messageId"] not in failed:
                self.messages.pop(record["messageId"], None)

    def next_time(self) -> float | None:
        """Return when the next message becomes visible."""
        return min((message.visible for message in self.messages.values()), default=None)


def as_event(kind: str, time: str, detail: dict[str, Any]) -> str:
    """Return EventBridge's document in the format of the queue."""
    source = "aws.cloudwatch" if "Alarm" in kind else "aws.sagemaker"
    return json.dumps({"version": "0", "detail-type": kind, "source": source, "time": time, "detail": detail})
