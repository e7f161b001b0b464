"""Refusals of a request, with the codes that CloudFormation's clients know.

Source: model botocore cloudformation AlreadyExistsException
Source: model botocore cloudformation ChangeSetNotFoundException
"""


class RequestRefused(Exception):
    """The request cannot be carried out; `code` is what clients branch on."""

    def __init__(self, code: str, message: str) -> None:
        """Take CloudFormation's error code and the text for the user."""
        super().__init__(message)
        self.code = code


def invalid(message: str) -> RequestRefused:
    """Return a ValidationError, which is what CloudFormation answers to most mistakes."""
    return RequestRefused("ValidationError", message)


def no_stack(name_or_id: str) -> RequestRefused:
    """Return the refusal whose exact text clients use to learn that a stack does not exist."""
    return invalid(f"Stack with id {name_or_id} does not exist")


def no_change_set(name_or_id: str) -> RequestRefused:
    """Return the refusal for an unknown change set."""
    return RequestRefused("ChangeSetNotFound", f"ChangeSet [{name_or_id}] does not exist")
