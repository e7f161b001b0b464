"""botocore's models of the services are read once a process, and what does not change is looked up once.

moto's backends, its answers and the clients here have a loader each, and reading the model of EC2 takes a while. Each
loader would ask the file system some thousand times which services there are; each request would have its class
inspected for the names of its operations; and EC2 would make 1,300 machine images, for each region, that no one asks
about.

Source: emulation, speed alone
"""

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader, Loader
from moto.core import responses
from moto.ec2.models.amis import AmiBackend

_read = JSONFileLoader.load_file
_reader = JSONFileLoader()
_list = Loader.list_available_services
_load_images = AmiBackend._load_amis  # pyright: ignore[reportPrivateUsage]
_method_names = responses.method_names_from_class


def install() -> None:
    """Let all loaders share what one has read, and let images be made when one is asked about."""
    JSONFileLoader.load_file = _load_file
    Loader.list_available_services = _list_available_services
    responses.method_names_from_class = _method_names_of
    AmiBackend._load_amis = _load_no_images  # pyright: ignore[reportPrivateUsage]
    AmiBackend.amis = property(_images, _set_images)  # pyright: ignore[reportAttributeAccessIssue]


def _load_file(self: JSONFileLoader, file_path: str) -> Any:
    return _shared(file_path)


@cache
def _shared(file_path: str) -> Any:
    return _read(_reader, file_path)


def _list_available_services(self: Loader, type_name: str) -> list[str]:
    return list(_available(tuple(self.search_paths), type_name))


@cache
def _available(search_paths: tuple[str, ...], type_name: str) -> tuple[str, ...]:
    return tuple(_list(Loader(list(search_paths), include_default_search_paths=False), type_name))


@cache
def _method_names_of(clazz: object) -> list[str]:
    return _method_names(clazz)


def _load_no_images(self: AmiBackend) -> None:
    """Wait until one is asked about."""


def _images(self: AmiBackend) -> dict[str, Any]:
    if "_images_made" not in self.__dict__:
        self.__dict__["_images_made"] = True
        _load_images(self)
    return self.__dict__["_images"]


def _set_images(self: AmiBackend, images: dict[str, Any]) -> None:
    self.__dict__["_images"] = images
