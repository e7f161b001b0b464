"""The page about services tells of every parameter with its default, and its figures are those of the template."""

import inspect
import re

from llm_fleet import InferenceService, ServiceSpec
from llm_fleet.inference.model import CONTAINER_PATH
from llm_fleet.inference.service import ServiceGrants, least_healthy_percent
from tests.inference.service.conftest import Served
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "inference-service.md").read_text(encoding="utf-8")


def table(heading: str) -> dict[str, list[str]]:
    """Rows of the table below `heading` by their first cell."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {cells[0]: cells[1:] for cells in rows[2:]}


def test_every_parameter_has_its_default_and_its_why():
    told = {name: cells for first, cells in table("Parameters").items() for name in re.findall(r"`(\w+)`", first)}
    wanted = set(inspect.signature(InferenceService.__init__).parameters) - {"self", "scope", "id"}
    assert set(told) == wanted | set(ServiceSpec.model_fields) | {"field"} & set(told)
    assert all(len(cells) == 2 and all(cells) for cells in told.values())


def test_each_row_of_the_task_and_the_service_has_its_why():
    for heading in ("The task", "The service"):
        assert all(len(cells) == 2 and all(cells) for cells in table(heading).values()), heading


def test_figures_of_the_task(talk: Served):
    rows, server = table("The task"), talk.containers["server"]
    assert f"{talk.task['Memory']} MiB on an inf2.xlarge" in rows["memory"][0]
    assert rows["memory"][0].endswith(f"the server has {server['Memory']}")
    assert f"{server['LinuxParameters']['SharedMemorySize'] // 1024} GiB" in rows["`/dev/shm`"][0]
    limits = {each["Name"]: each["SoftLimit"] for each in server["Ulimits"]}
    assert f"`nofile` {limits['nofile']}" in rows["ulimits"][0]
    assert server["StopTimeout"] == 90 + 10
    assert "90 s unless told), and 10 s" in rows["`stopTimeout`"][0]
    assert f"`{CONTAINER_PATH}`" in rows["cache"][0]
    assert server["LogConfiguration"]["Options"]["max-buffer-size"] == "10m"


def test_figures_of_the_service(talk: Served):
    percent = table("The service")["minimum healthy percent"][0]
    assert re.findall(r"\d+", percent) == [str(least_healthy_percent(tasks)) for tasks in (1, 2, 3)]
    assert str(talk.service["Properties"]["DeploymentConfiguration"]["MaximumPercent"]) in str(table("The service"))


def test_every_grant_and_output_is_there(hub: Served):
    for name in vars(ServiceGrants):
        assert name.startswith("_") or f"chat.grants.{name}(" in PAGE, name
    # Logical ids end with eight characters of a hash.
    ids = [key.removeprefix("Chat")[:-8] for key in hub.template["Outputs"]]
    assert len(ids) == 8
    assert [id for id in ids if f"`{id}`" not in PAGE] == []


def test_maintenance_of_tgi_is_said_and_the_switch_shown():
    assert "TGI is in maintenance mode" in PAGE
    assert "HuggingFaceVllmServer(" in PAGE
