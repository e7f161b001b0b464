"""Events go to queues and logs only if they match an enabled rule, and functions run only when a test calls them.

In moto, a rule that has only a schedule matches every event, an unsupported target raises an exception, and each
message in a queue with a function starts a Docker container. Here messages stay in the queue until `LocalAws.deliver`
passes them to the function; functions that are targets of a rule are not run.

Source: model botocore events PutRule
"""

from threading import RLock
from typing import Any

from moto.events.models import Rule
from moto.sqs.models import Message, Queue

_SERVED = ("logs", "events", "sqs")
_LOCK = RLock()


def install() -> None:
    """Replace moto's delivery to a rule's targets, and of a queue's messages."""
    if getattr(Rule.send_to_targets, "is_ours", False):
        return
    send, add = Rule.send_to_targets, Queue.add_message

    def send_to_targets(self: Rule, original_event: Any, transform_input: bool = True) -> None:
        if self.state == "DISABLED" or not self.event_pattern.get_pattern():
            return
        with _LOCK:
            every = self.targets
            self.targets = [target for target in every if target["Arn"].split(":")[2] in _SERVED]
            try:
                send(self, original_event, transform_input)
            finally:
                self.targets = every

    def add_message(self: Queue, message: Message) -> None:
        with _LOCK:
            mappings, self.lambda_event_source_mappings = self.lambda_event_source_mappings, {}
            try:
                add(self, message)
            finally:
                self.lambda_event_source_mappings = mappings

    send_to_targets.is_ours = True  # pyright: ignore[reportFunctionMemberAccess]
    Rule.send_to_targets = send_to_targets
    Queue.add_message = add_message
