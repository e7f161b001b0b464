"""Asks the Hugging Face Hub whether it hands out a model."""

from typing import NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.rules.account.model import CONFIG
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem

HUB = "https://huggingface.co"
_SECONDS = 15


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is an answer: the file is there. The token goes nowhere else."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow none."""
        return None


def hub_status(model_id: str, *, revision: str | None, token: str | None, hub: str = HUB) -> int:
    """Return the HTTP status of the model's config.json. Raises `AwsRefusal` when the Hub does not answer."""
    url = f"{hub}/{quote(model_id)}/resolve/{quote(revision or 'main', safe='')}/{CONFIG}"
    headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
    request = Request(url, method="HEAD", headers=headers)  # noqa: S310 - HTTPS, but for tests
    try:
        with build_opener(_NoRedirects()).open(request, timeout=_SECONDS) as answer:
            return answer.status
    except HTTPError as error:
        return error.code
    except (URLError, OSError, ValueError) as error:
        _unreachable(hub, error)


def _unreachable(hub: str, error: Exception) -> NoReturn:
    reason = (
        error.reason if isinstance(error, URLError) else type(error).__name__
    )  # Never the request: it has the token.
    problem = Problem(
        code=CommandCode.UNREACHABLE,
        message=f"{hub} does not answer: {reason}",
        remedy="see that this machine reaches the Hub, or leave --hub out",
    )
    raise AwsRefusal([problem], subject="huggingface.co") from None
