"""Checks models and images: whether they exist and may be read."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from llm_fleet.cli.aws.clients import AwsRefusal
from llm_fleet.cli.check import Topic
from llm_fleet.cli.check.question import Account, Answer, Ask, Question
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.service import ServedModelConfig, ServiceConfig
from llm_fleet.rules.account.certificate import check_certificate
from llm_fleet.rules.account.images import CONFIG, check_hub_model, check_model_in_bucket, check_token_secret
from llm_fleet.rules.command_codes import CommandCode
from llm_fleet.rules.problem import PathPart, Problem

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


_Served = tuple[ServedModelConfig, tuple[PathPart, ...], str, bool]
"""A model, its place in the file, whose it is, and whether the fleet itself writes it later."""


def questions(fleet: Fleet, *, region: str, ask_hub: bool) -> Iterator[Question]:
    """Ask for the models of services, what is compiled from, secrets with tokens, and certificates."""
    for name, service in fleet.services.items():
        owner, path = f"service {name}", ("services", name)
        models: list[_Served] = [(service.model, (*path, "model"), owner, service.export is not None)]
        if service.export is not None:
            models.append((service.export.source, (*path, "export", "source"), f"the export of {owner}", False))
        for model, model_path, who, exported in models:
            if model.s3_uri is not None:
                yield Question(
                    topic=Topic.MODELS,
                    what=f"model {model.s3_uri}",
                    answer=_asking_bucket(model.s3_uri, who, exported, model_path),
                )
            yield from _of_hub(model, who, model_path, region, ask_hub)
        if service.front.certificate_arn is not None:
            yield Question(
                topic=Topic.MODELS, what=f"certificate of {owner}", answer=_asking_certificate(service, owner, path)
            )


def _of_hub(
    model: ServedModelConfig, owner: str, path: tuple[PathPart, ...], region: str, ask_hub: bool
) -> Iterator[Question]:
    secret = model.token_secret_arn
    if secret is not None:
        yield Question(
            topic=Topic.MODELS,
            what=f"Hub's token of {owner}",
            answer=_asking_secret(secret, owner, (*path, "token_secret"), region),
        )
    if model.hub_id is not None and ask_hub:
        yield Question(
            topic=Topic.MODELS, what=f"model {model.hub_id} on the Hub", answer=_asking_hub(model, owner, path)
        )


def _asking_bucket(uri: str, owner: str, exported: bool, path: tuple[PathPart, ...]) -> Ask:
    def answer(account: Account) -> Answer:
        parts = urlsplit(uri)
        prefix = f"{parts.path.strip('/')}/".lstrip("/")
        try:
            told = account.ask("s3", "list_objects_v2", first_page=True, Bucket=parts.netloc, Prefix=prefix)
        except AwsRefusal as refusal:
            if refusal.code is not CommandCode.GONE:
                raise
            told = {}
        keys = [item["Key"] for item in told.get("Contents", ())]
        has_config = f"{prefix}{CONFIG}" in keys or _has_key(account, parts.netloc, f"{prefix}{CONFIG}", told)
        problems = check_model_in_bucket(
            uri, files=len(keys), has_config=has_config, owner=owner, exported=exported, path=path
        )
        if exported and not has_config:
            return Answer(detail="not there yet: the service's export writes it")
        return Answer(detail=f"{len(keys)} files{' or more' if told.get('IsTruncated') else ''}", problems=problems)

    return answer


def _has_key(account: Account, bucket: str, key: str, told: dict[str, object]) -> bool:
    """Return whether a key beyond the first page is there."""
    if not told.get("IsTruncated"):
        return False
    listed = account.ask("s3", "list_objects_v2", first_page=True, Bucket=bucket, Prefix=key, MaxKeys=1)
    return any(item["Key"] == key for item in listed.get("Contents", ()))


def _asking_secret(arn: str, owner: str, path: tuple[PathPart, ...], region: str) -> Ask:
    def answer(account: Account) -> Answer:
        there, deleted = True, False
        try:
            told = account.ask("secretsmanager", "describe_secret", SecretId=arn)
            deleted = told.get("DeletedDate") is not None
        except AwsRefusal as refusal:
            if refusal.code is not CommandCode.GONE:
                raise
            there = False
        problems = check_token_secret(arn, there=there, deleted=deleted, owner=owner, region=region, path=path)
        return Answer(detail="there, not read" if not problems else "not usable", problems=problems)

    return answer


def _asking_hub(model: ServedModelConfig, owner: str, path: tuple[PathPart, ...]) -> Ask:
    def answer(account: Account) -> Answer:
        token = None
        if model.token_secret_arn is not None:
            token = account.ask("secretsmanager", "get_secret_value", SecretId=model.token_secret_arn)["SecretString"]
        assert model.hub_id is not None
        status = hub_status(model.hub_id, revision=model.revision, token=token)
        problems = check_hub_model(
            model.hub_id, status=status, with_token=token is not None, owner=owner, path=(*path, "hub")
        )
        return Answer(detail=f"the Hub answers {status} to its {CONFIG}", problems=problems)

    return answer


def _asking_certificate(service: ServiceConfig, owner: str, path: tuple[PathPart, ...]) -> Ask:
    def answer(account: Account) -> Answer:
        arn = str(service.front.certificate_arn)
        told: dict[str, Any] = {}
        try:
            told = account.ask("acm", "describe_certificate", CertificateArn=arn)["Certificate"]
        except AwsRefusal as refusal:
            if refusal.code is not CommandCode.GONE:
                raise
        problems = check_certificate(
            arn,
            status=told.get("Status"),
            ends=told.get("NotAfter"),
            names=tuple(told.get("SubjectAlternativeNames", ())),
            domain=service.front.domain_name,
            owner=owner,
            now=datetime.now(UTC),
            path=(*path, "front", "certificate"),
        )
        return Answer(detail=str(told.get("Status", "there is no such certificate")), problems=problems)

    return answer
