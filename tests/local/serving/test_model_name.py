"""The `model` that `serve` prints for clients."""

import json
from typing import Any

import pytest

from llm_fleet_local.serving.model_name import model_name
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.local.serving.templates import FORWARD, paths, rule, server, template

LISTED = {"object": "list", "data": [{"id": "chat", "object": "model"}]}


def answer(body: str) -> list[dict[str, Any]]:
    return [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "200", "MessageBody": body}}]


@pytest.mark.parametrize(
    ("body", "command", "expected"),
    [
        (json.dumps(LISTED), (), "chat"),
        (json.dumps(LISTED), ("--served-model-name", "mine"), "mine"),
        (json.dumps({"error": {"message": "no"}}), (), "tgi"),
        ("[]", (), "tgi"),
        ("Not found", (), "tgi"),
    ],
)
def test_the_model_name_is_the_one_that_clients_use(body: str, command: tuple[str, ...], expected: str):
    rules = {
        "Models": rule(10, [paths("/v1/models")], answer(body)),
        "Api": rule(20, [paths("/v1/*")], FORWARD),
    }
    reader = TemplateReader(template(rules=rules, container=server(command=command)))
    service = choose_service(read_services(reader), None)
    assert model_name(service, read_front(reader, service.target_group)) == expected
