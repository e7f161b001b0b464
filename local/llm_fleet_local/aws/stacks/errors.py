"""Errors of requests, with CloudFormation's error codes.

Source: model botocore cloudformation AlreadyExistsException
Source: model botocore cloudformation ChangeSetNotFoundException
"""


class RequestRejected(Exception):
    """The request is rejected; clients branch on `code`."""

    def __init__(self, code: str, message: str) -> None:
        """Set CloudFormation's error code and the text for the user."""
        super().__init__(message)
        self.code = code


def invalid(message: str) -> RequestRejected:
    """Return a ValidationError, CloudFormation's code for most errors."""
    return RequestRejected("ValidationError", message)


def no_stack(name_or_id: str) -> RequestRejected:
    """Return the error for a missing stack; clients compare its exact text."""
    return invalid(f"Stack with id {name_or_id} does not exist")


def no_stack_called(name_or_id: str) -> RequestRejected:
    """Return the same error with the text of DescribeStackEvents and of operations on change sets.

    Source: recorded localstack/localstack api/test_stacks test_describe_stack_events_errors (2024-03-26)
    """
    return invalid(f"Stack [{name_or_id}] does not exist")


def no_stack_quoted(name_or_id: str) -> RequestRejected:
    """Return the same error with the text of DescribeStackResource.

    Source: recorded localstack/localstack api/test_resources test_describe_non_existent_stack (2025-07-25)
    """
    return invalid(f"Stack '{name_or_id}' does not exist")


def no_change_set(name_or_id: str) -> RequestRejected:
    """Return the error for an unknown change set."""
    return RequestRejected("ChangeSetNotFound", f"ChangeSet [{name_or_id}] does not exist")
