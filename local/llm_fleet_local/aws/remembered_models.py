"""Work that botocore repeats for each session or client is done once per process.

- Models of services are read and listed.
- Names of events are looked up in their aliases.

ISO 8601 times are read by Python's own parser: botocore uses `dateutil`, which is far slower.

Source: emulation, for speed only
"""

from datetime import datetime
from functools import cache
from typing import Any

from botocore import parsers
from botocore.hooks import EventAliaser
from botocore.loaders import JSONFileLoader, Loader

_reader = JSONFileLoader()
_read = JSONFileLoader.load_file
_list = Loader.list_available_services
_Aliaser: Any = EventAliaser
_make_aliaser = _Aliaser.__init__
_names_of_events: dict[str, str] = {}
_parse_any_time: Any = parsers.DEFAULT_TIMESTAMP_PARSER


def remember_models() -> None:
    """Share the results among all sessions and clients of this process."""
    JSONFileLoader.load_file = _load_file
    Loader.list_available_services = _list_available_services
    _Aliaser.__init__ = _share_names
    parsers.DEFAULT_TIMESTAMP_PARSER = _parse_time


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


def _parse_time(value: Any) -> datetime:
    if isinstance(value, str) and value[4:5] == "-":
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass  # another format
    return _parse_any_time(value)


def _share_names(self: Any, *given: Any) -> None:
    _make_aliaser(self, *given)
    self._alias_name_cache = _names_of_events
