"""Work that moto repeats for each request or region is done once, or when it is needed.

- For every request, the server lists moto's folder and tries a few hundred patterns, twice.
- For every request, moto inspects a class for the names of its operations, and writes a log line for the bucket.
- EC2 creates 1,300 machine images in each region; here they are created at the first query.

Source: emulation, for speed only
"""

from functools import cache
from typing import Any

from moto.core import responses, utils
from moto.ec2.models.amis import AmiBackend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.s3.models import S3Backend

_find = DomainDispatcherApplication.get_backend_for_host
_load_images = AmiBackend._load_amis  # pyright: ignore[reportPrivateUsage]
_log_request = S3Backend.log_incoming_request


def install() -> None:
    """Install the caches."""
    DomainDispatcherApplication.get_backend_for_host = _get_backend_for_host
    responses.method_names_from_class = _method_names  # pyright: ignore[reportPrivateImportUsage]
    S3Backend.log_incoming_request = _log_where_requested
    AmiBackend._load_amis = _load_no_images  # pyright: ignore[reportPrivateUsage]
    AmiBackend.amis = property(_images, _set_images)  # pyright: ignore[reportAttributeAccessIssue]


def _get_backend_for_host(self: DomainDispatcherApplication, host: str | None) -> Any:
    return _found(self, host)


@cache
def _found(dispatcher: DomainDispatcherApplication, host: str | None) -> Any:
    return _find(dispatcher, host)


@cache
def _method_names(clazz: object) -> list[str]:
    return utils.method_names_from_class(clazz)


def _log_where_requested(self: S3Backend, request: Any, bucket_name: str) -> None:
    bucket = self.buckets.get(bucket_name)
    if bucket is None or bucket.logging:
        _log_request(self, request, bucket_name)


def _load_no_images(self: AmiBackend) -> None:
    """Do nothing: the images are loaded at the first query."""


def _images(self: AmiBackend) -> dict[str, Any]:
    if "_images_made" not in self.__dict__:
        self.__dict__["_images_made"] = True
        _load_images(self)
    return self.__dict__["_images"]


def _set_images(self: AmiBackend, images: dict[str, Any]) -> None:
    self.__dict__["_images"] = images
