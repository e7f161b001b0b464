"""Experiments with the stacks of a fleet: CloudFormation validates each template and plans its creation."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from llm_fleet.catalog.experiments import Call, Request
from llm_fleet.cli.plan.stack_templates import StackTemplate


def stack_experiments(
    stacks: Iterable[StackTemplate], deployed: Collection[str]
) -> Iterator[tuple[str, tuple[Call, ...]]]:
    """Yield a name and the calls for each stack.

    A change set for a stack of its own name is created, read and deleted; it is never executed. Two kinds of stacks are
    only validated: those in `deployed`, because CloudFormation rejects a change set with names in use, and those
    that import values, because it requires the exports when it creates the change set. The template is in a bucket: a
    request has at most 51,200 bytes of template.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html (2026-11)
    """
    for number, stack in enumerate(stacks):
        if stack.file is not None:
            plan = not stack.imports and stack.name not in deployed
            yield f"stack {stack.name}", tuple(_calls(stack.file, f"<run>-{number}", plan=plan))


def _calls(file: Path, own_name: str, *, plan: bool) -> Iterator[Call]:
    # One bucket for each stack: S3 may reject the name of a bucket that was just deleted.
    bucket = {"Bucket": f"{own_name}-<account>"}
    key = {**bucket, "Key": file.name}
    address = {"TemplateURL": f"https://{own_name}-<account>.s3.<region>.<dns_suffix>/{file.name}"}
    yield Call(
        call="s3:CreateBucket", arguments=bucket, setup=True, undo=Request(call="s3:DeleteBucket", arguments=bucket)
    )
    yield Call(
        call="s3:PutObject",
        arguments={**key, "Body": file.read_text(encoding="utf-8")},
        setup=True,
        undo=Request(call="s3:DeleteObject", arguments=key),
    )
    yield Call(call="cloudformation:ValidateTemplate", arguments=address)
    if plan:
        yield from _planned(own_name, address)


def _planned(own_name: str, address: Mapping[str, str]) -> Iterator[Call]:
    stack = {"StackName": own_name}
    change_set = {**stack, "ChangeSetName": own_name}
    yield Call(
        call="cloudformation:CreateChangeSet",
        arguments={
            **change_set,
            **address,
            "ChangeSetType": "CREATE",
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        },
        wait=Request(call="cloudformation:change_set_create_complete", arguments=change_set),
        undo=Request(call="cloudformation:DeleteStack", arguments=stack),
        undo_wait=Request(call="cloudformation:stack_delete_complete", arguments=stack),
    )
    yield Call(call="cloudformation:DescribeChangeSet", arguments=change_set, answer="length(Changes)")
