"""The error of a template that cannot be served here."""


class NotServable(ValueError):
    """The template has no service, is ambiguous, or asks for what the stand-ins do not do; the message says what."""
