"""Translates errors of huggingface_hub into failures with a remedy."""

from __future__ import annotations

from typing import Any, Callable, NoReturn, Optional, Tuple

from llm_fleet_training.failures import Code, Failure

_NO_CONNECTION = (
    "ConnectError",
    "ConnectionError",
    "ConnectTimeout",
    "TimeoutException",
    "Timeout",
    "TransportError",
    "OfflineModeIsEnabled",
    "LocalEntryNotFoundError",
)
"""Classes of httpx, requests and huggingface_hub; which of the first two is used depends on the release."""
_BUSY = (408, 429, 500, 502, 503, 504)


class HubFailures:
    """Failures of one model, with or without a token."""

    def __init__(self, model: str, revision: Optional[str], *, token: Optional[str], endpoint: str, kind: str) -> None:
        """`token` is never printed; it is removed from texts of other programs."""
        self._model = model
        self._revision = revision or "main"
        self._token = token
        self._endpoint = endpoint
        self._kind = "data set" if kind == "dataset" else kind

    def raise_for(self, error: Exception, *, begun: bool = False) -> NoReturn:
        """Raise the failure for an error of huggingface_hub; other errors are raised unchanged.

        `begun`: the download has started, so a lost connection is worth another attempt.
        """
        kinds = tuple(kind.__name__ for kind in type(error).__mro__)
        status = _status(error)
        found = self._known(kinds, status) or self._by_status(error, status)
        if found is None and any(kind in _NO_CONNECTION for kind in kinds):
            found = (Code.SOURCE_UNREACHABLE, f"{self._endpoint} cannot be reached: {self._words(error)}")
        if found is None and isinstance(error, (OSError, ValueError)):
            found = (Code.SOURCE_UNREACHABLE, f"{self._model} of {self._endpoint}: {self._words(error)}")
        if found is None:
            raise error
        restartable = status in _BUSY or (begun and found[0] is Code.SOURCE_UNREACHABLE)
        # Without the chain: a traceback of the library contains headers.
        raise Failure(found[0], found[1], final=not restartable) from None

    def _known(self, kinds: Tuple[str, ...], status: Optional[int]) -> Optional[Tuple[Code, str]]:
        causes: Tuple[Tuple[str, Callable[[], Tuple[Code, str]]], ...] = (
            (
                "HFValidationError",
                lambda: (Code.MODEL_NOT_FOUND, f"{self._model!r} is not an id of the Hub; write <owner>/<name>"),
            ),
            (
                "RevisionNotFoundError",
                lambda: (Code.MODEL_NOT_FOUND, f"{self._model} has no revision {self._revision!r}"),
            ),
            ("GatedRepoError", lambda: self._gated(status)),
            ("DisabledRepoError", lambda: (Code.MODEL_NOT_FOUND, f"{self._model} was disabled by the Hub")),
            ("RepositoryNotFoundError", self._missing),
        )
        return next((words() for kind, words in causes if kind in kinds), None)

    def _gated(self, status: Optional[int]) -> Tuple[Code, str]:
        if self._token is None or status == 401:
            return Code.HUB_TOKEN, f"{self._model} is gated, and no token is set"
        return (
            Code.LICENSE,
            f"{self._model} is gated, and the account of this token has no access: its license was not accepted, or "
            "the request is pending, or the token has no permission to read gated models",
        )

    def _missing(self) -> Tuple[Code, str]:
        if self._token is None:
            return (
                Code.MODEL_NOT_FOUND,
                f"there is no public {self._kind} {self._model}, and no token is set",
            )
        return Code.MODEL_NOT_FOUND, f"there is no {self._kind} {self._model}, or this token's account cannot see it"

    def _by_status(self, error: Exception, status: Optional[int]) -> Optional[Tuple[Code, str]]:
        if status == 401:
            return Code.HUB_TOKEN, f"the Hub rejects the token: {self._words(error)}"
        if status == 403:
            return Code.LICENSE, f"the Hub denies this token access to {self._model}: {self._words(error)}"
        if status in _BUSY:
            return Code.SOURCE_UNREACHABLE, f"{self._endpoint} is busy (HTTP {status}): {self._words(error)}"
        return None

    def _words(self, error: Exception) -> str:
        text = " ".join(str(error).split()) or type(error).__name__
        return text.replace(self._token, "…") if self._token else text


def _status(error: Any) -> Optional[int]:
    return getattr(getattr(error, "response", None), "status_code", None)
