"""What a user may write of a service in short, written out: `model: s3://…`, `server: tgi`, `hosts: ec2`,
`alarms: arn:…`."""

from typing import Any, cast

from llm_fleet.config.kinds import KIND
from llm_fleet.rules.inference.terms import ServerKind


def service_in_long_form(service: Any) -> Any:
    """Return `service` with each short form written out; what is of another form stays as it is."""
    if not isinstance(service, dict):
        return service
    written = cast("dict[str, Any]", service)
    readers = {"model": _model, "server": _server, "hosts": _hosts, "alarms": _alarms, "export": _export}
    return {key: readers[key](value) if key in readers else value for key, value in written.items()}


def _model(written: Any) -> Any:
    """A URI is of S3, a path is in the image, and what is left is an id of the Hub."""
    if not isinstance(written, str):
        return written
    if "://" in written:
        return {"s3": written}
    return {"image" if written.startswith("/") else "hub": written}


def _server(written: Any) -> Any:
    if isinstance(written, str):
        return {KIND: written}
    if isinstance(written, dict) and KIND not in written:
        return {KIND: ServerKind.TGI.value, **cast("dict[str, Any]", written)}
    return cast(Any, written)


def _hosts(written: Any) -> Any:
    return {"capacity": written} if isinstance(written, str) else written


def _alarms(written: Any) -> Any:
    return {"topic": written} if isinstance(written, str) else written


def _export(written: Any) -> Any:
    if not isinstance(written, dict) or "source" not in written:
        return cast(Any, written)
    export = cast("dict[str, Any]", written)
    return {**export, "source": _model(export["source"])}
