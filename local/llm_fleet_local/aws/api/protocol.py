"""The AWS query protocol: form in, XML out, both driven by botocore's model of CloudFormation."""

import re
import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, cast
from xml.etree import ElementTree

import botocore.loaders
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from llm_fleet_local.aws.stacks.errors import RequestRejected, invalid

VERSION = "2010-05-15"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@cache
def service_model() -> ServiceModel:
    """Return botocore's model of CloudFormation."""
    loader = botocore.loaders.Loader()
    return ServiceModel(cast("Any", loader).load_service_model("cloudformation", "service-2", VERSION))


def operation_of(form: Mapping[str, str]) -> OperationModel:
    """Return the operation that a request names. Raises `RequestRejected`.

    Source: recorded ansible/ansible#44505, code of the error (2018-08-22)
    """
    name = form.get("Action", "")
    if name not in service_model().operation_names:
        raise RequestRejected("InvalidAction", f"Could not find operation {name} for version {VERSION}")
    return service_model().operation_model(name)


def read_request(form: Mapping[str, str], operation: OperationModel) -> dict[str, Any]:
    """Return the members of a request with the types of the model. Raises `RequestRejected` if the model forbids one.

    Source: emulation, botocore validates the request against its model
    """
    shape = operation.input_shape
    if shape is None:
        return {}
    parameters: dict[str, Any] = _read(form, "", shape) or {}
    report = cast("Any", ParamValidator()).validate(parameters, shape)
    if report.has_errors():
        raise invalid(report.generate_report())
    return parameters


def _read(form: Mapping[str, str], prefix: str, shape: Shape) -> Any:
    if isinstance(shape, StructureShape):
        members = {
            name: _read(form, f"{prefix}.{name}" if prefix else name, member) for name, member in shape.members.items()
        }
        return {name: value for name, value in members.items() if value is not None} or None
    if isinstance(shape, ListShape):
        return _read_list(form, prefix, shape)
    if isinstance(shape, MapShape):
        return _read_map(form, prefix, shape)
    text = form.get(prefix)
    if text is None:
        return None
    # Source: emulation, the type is that of botocore's model
    try:
        return {"boolean": lambda: text.lower() == "true", "integer": lambda: int(text)}[shape.type_name]()
    except KeyError:
        return text
    except ValueError:
        raise invalid(f"{prefix} must be a number, not {text!r}") from None


def _read_list(form: Mapping[str, str], prefix: str, shape: ListShape) -> list[Any] | None:
    if form.get(prefix) == "":
        return []
    items: list[Any] = []
    while (item := _read(form, f"{prefix}.member.{len(items) + 1}", shape.member)) is not None:
        items.append(item)
    return items or None


def _read_map(form: Mapping[str, str], prefix: str, shape: MapShape) -> dict[str, Any] | None:
    entries: dict[str, Any] = {}
    while (key := form.get(f"{prefix}.entry.{len(entries) + 1}.key")) is not None:
        entries[key] = _read(form, f"{prefix}.entry.{len(entries) + 1}.value", shape.value)
    return entries or None


def write_response(operation: OperationModel, result: Mapping[str, Any]) -> bytes:
    """Return the XML of a response. Members that the model does not have raise `KeyError`: an error in the emulator."""
    root = ElementTree.Element(f"{operation.name}Response", xmlns=str(service_model().metadata["xmlNamespace"]))
    shape = operation.output_shape
    if isinstance(shape, StructureShape):
        wrapper = str(shape.serialization.get("resultWrapper", f"{operation.name}Result"))
        _write(ElementTree.SubElement(root, wrapper), result, shape)
    _metadata(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def write_error(code: str, message: str) -> bytes:
    """Return the XML of an error response."""
    root = ElementTree.Element("ErrorResponse", xmlns=str(service_model().metadata["xmlNamespace"]))
    error = ElementTree.SubElement(root, "Error")
    for name, text in (("Type", "Sender"), ("Code", code), ("Message", message)):
        ElementTree.SubElement(error, name).text = _printable(text)
    ElementTree.SubElement(root, "RequestId").text = str(uuid.uuid4())
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _metadata(root: ElementTree.Element) -> None:
    metadata = ElementTree.SubElement(root, "ResponseMetadata")
    ElementTree.SubElement(metadata, "RequestId").text = str(uuid.uuid4())


def _write(element: ElementTree.Element, value: Any, shape: Shape) -> None:
    if isinstance(shape, StructureShape):
        for name, item in cast("Mapping[str, Any]", value).items():
            if item is not None:
                _write(ElementTree.SubElement(element, name), item, shape.members[name])
    elif isinstance(shape, ListShape):
        for item in cast("list[Any]", value):
            _write(ElementTree.SubElement(element, "member"), item, shape.member)
    elif isinstance(value, bool):
        element.text = "true" if value else "false"
    elif isinstance(value, datetime):
        element.text = value.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    else:
        element.text = _printable(str(value))


def _printable(text: str) -> str:
    """Remove control characters, which XML 1.0 does not allow; texts of other programs can contain some."""
    return _CONTROL.sub("?", text)
