"""Which buckets a thing reads and writes, by the rights of its roles and by what it is told to load."""

from collections.abc import Iterator
from typing import Any, cast

from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.storage_things import BUCKET
from llm_fleet.cli.plan.picture.terms import Verb
from llm_fleet.cli.plan.picture.thing import Link
from llm_fleet.cli.plan.picture.view import View

_WRITING = ("s3:Put", "s3:Delete", "s3:*", "*")
_READING = ("s3:Get", "s3:List", *_WRITING)


def buckets_of(view: View, resource: Resource) -> list[Link]:
    """Return a line to each bucket of the assembly that `resource` may write, or else read."""
    rights: dict[str, Verb] = {}
    for part in view.body(resource):
        for bucket, verb in _of_part(view, part):
            if rights.get(bucket.key) is not Verb.WRITES:
                rights[bucket.key] = verb
    return [Link(source=resource.key, target=key, verb=verb) for key, verb in rights.items()]


def _of_part(view: View, part: Resource) -> Iterator[tuple[Resource, Verb]]:
    inline: list[dict[str, Any]] = [*part.properties.get("Policies", ())]
    documents: list[dict[str, Any]] = [one.get("PolicyDocument", {}) for one in (part.properties, *inline)]
    for document in documents:
        for statement in _list(document.get("Statement")):
            verb = _verb(statement)
            for bucket in view.named(part, statement.get("Resource"), BUCKET) if verb is not None else ():
                yield bucket, verb or Verb.READS
    if not part.type.startswith("AWS::IAM::"):
        told = {name: value for name, value in part.properties.items() if name != "ServiceToken"}
        for bucket in view.named(part, told, BUCKET):
            yield bucket, Verb.READS


def _verb(statement: dict[str, Any]) -> Verb | None:
    if statement.get("Effect") != "Allow":
        return None
    actions = [str(action) for action in _list(statement.get("Action"))]
    if any(action.startswith(_WRITING[:3]) or action == "*" for action in actions):
        return Verb.WRITES
    return Verb.READS if any(action.startswith(_READING[:2]) for action in actions) else None


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]
