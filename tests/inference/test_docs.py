"""The pages on inference: tables, figures and examples are those of the code."""

import inspect
import re

import aws_cdk as cdk
import pytest

from llm_fleet import InferenceService
from llm_fleet.catalog.model_server import server_metrics
from llm_fleet.catalog.neuron import ami_for, host_facts
from llm_fleet.catalog.service import alarm_facts, collector_facts, front_facts, neuron_health_facts, scaling_facts
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.iam.statements import Place, describe
from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.inference.hosts import host_permissions
from llm_fleet.inference.model import CONTAINER_PATH
from llm_fleet.inference.service import ServiceGrants, least_healthy_percent
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.routes import Route, RouteAction, routes
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import Alarms, Authentication, Front, Hosts, Jwt, JwtClaim, Scaling, ServiceSpec
from tests.inference.services import Served
from tests.inference.watched import METRICS
from tests.pages import CONSTRUCTS, check_made, examples, run_examples, table

FRONT_PAGE = CONSTRUCTS / "inference-front.md"
FRONT = FRONT_PAGE.read_text()


def becomes(route: Route) -> str:
    if route.answer is not None:
        return str(route.answer.status) if route.answer.status >= 400 else "the list of models, by the load balancer"
    return "token checked, then the server" if route.action is RouteAction.VALIDATE_JWT else "the server"


def routes_table() -> str:
    kinds = {
        "API key, TGI": (Authentication.API_KEY, ServerKind.TGI),
        "API key, vLLM": (Authentication.API_KEY, ServerKind.AWS_VLLM),
        "tokens": (Authentication.JWT, ServerKind.TGI),
        "none": (Authentication.NONE, ServerKind.TGI),
    }
    made = {name: {r.name: r for r in routes(a, server=s, served_name="chat")} for name, (a, s) in kinds.items()}
    every = {name: route for table in made.values() for name, route in table.items()}
    rows = [f"| request | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for name, route in sorted(every.items(), key=lambda item: item[1].priority):
        paths = ", ".join(f"`{path}`" for path in route.paths)
        method = f"{route.methods[0]} " if route.methods else ""
        credentials = (
            " with `Authorization: Bearer ?*`" if any(t[name].headers for t in made.values() if name in t) else ""
        )
        cells = [becomes(table[name]) if name in table else "" for table in made.values()]
        rows.append(f"| {method}{paths}{credentials} | {' | '.join(cells)} |")
    return "\n".join(rows)


def test_the_generated_table_of_routes_is_up_to_date() -> None:
    check_made(FRONT_PAGE, routes=routes_table())


def test_the_examples_of_the_front_run() -> None:
    assert isinstance(run_examples(FRONT)["front"], Front)


def test_the_fleet_file_is_valid() -> None:
    (text,) = examples(FRONT, "yaml")
    assert parse_fleet(text).services["chat"].front.domain_name == "chat.example.com"


@pytest.mark.parametrize("value", [Front, Jwt, JwtClaim])
def test_every_field_is_documented(value: type[Front | Jwt | JwtClaim]) -> None:
    assert [name for name in value.model_fields if f"`{name}`" not in FRONT] == []


def test_every_parameter_is_documented() -> None:
    parameters = set(inspect.signature(LoadBalancerFront.__init__).parameters) - {"self", "scope", "id"}
    assert len(parameters) > 5
    assert [name for name in parameters if f"`{name}`" not in FRONT] == []


def test_numbers_are_those_of_the_catalog() -> None:
    facts = front_facts()
    check = facts.health_check
    for text in (
        facts.tls_policy,
        f"| {facts.default_longest_answer_seconds} s, the timeout of OpenAI clients; up to "
        f"{facts.longest_answer_seconds.maximum} s",
        f"| {facts.default_requests_per_five_minutes} per IP address",
        f"{facts.api_key_characters} lower-case letters and digits",
        f"every {check.interval_seconds} s, timeout {check.timeout_seconds} s, healthy after {check.healthy_threshold} "
        f"successes, unhealthy after {check.unhealthy_threshold} failures",
        f"{facts.client_keep_alive_seconds} s, the load balancer's default",
    ):
        assert text in FRONT


HOSTS_PAGE = CONSTRUCTS / "inference-hosts.md"


@pytest.fixture(scope="module")
def hosts_page() -> str:
    return HOSTS_PAGE.read_text(encoding="utf-8")


def test_every_argument_has_its_default_and_reason(hosts_page: str):
    section = hosts_page.split("\n## Hosts\n")[1].split("\n## ")[0]
    assert [name for name in Hosts.model_fields if f"| `{name}` |" not in section] == []


def test_the_generated_table_of_permissions_is_up_to_date():
    place = Place(partition="aws", region="REGION", account="ACCOUNT")
    permissions = describe(
        host_permissions(
            place,
            cluster_name="CLUSTER",
            log_group_arn=place.arn("logs", "log-group:SERVICE"),
            stack_id=place.arn("cloudformation", "stack/STACK/ID"),
            model=(),
        )
    )
    check_made(HOSTS_PAGE, permissions=permissions)


def test_numbers_of_hosts_are_those_of_the_catalog(hosts_page: str):
    facts = host_facts()
    for text in (
        f"{facts.os_gib} GiB for the system",
        f"{facts.throughput_mib_s} MiB/s",
        f"{facts.boot_minutes} minutes for a host's signal",
        f"{ami_for('2.28.0.0')} for all servers for inf2",
    ):
        assert text in hosts_page


def test_every_error_code_of_hosts_is_documented(hosts_page: str):
    reported_elsewhere = {Code.HOST_WITHOUT_NEURON, Code.HOST_AMI}
    own = [code for code in Code if "LF730" <= code.value <= "LF739"]
    assert len(own) > 5
    assert [code.value for code in own if code.value not in hosts_page and code not in reported_elsewhere] == []


def test_the_example_of_hosts_runs(hosts_page: str):
    assert run_examples(hosts_page)["hosts"] == Hosts(root_volume_gib=200, ami="20260701", install_driver=False)


SERVICE = (CONSTRUCTS / "inference-service.md").read_text(encoding="utf-8")


def test_every_parameter_has_its_default_and_reason():
    documented = {
        name: cells for first, cells in table(SERVICE, "Parameters").items() for name in re.findall(r"`(\w+)`", first)
    }
    wanted = set(inspect.signature(InferenceService.__init__).parameters) - {"self", "scope", "id"}
    assert set(documented) == wanted | set(ServiceSpec.model_fields) | {"field"} & set(documented)
    assert all(len(cells) == 2 and all(cells) for cells in documented.values())


def test_each_row_of_the_task_and_the_service_has_its_reason():
    for heading in ("Task definition", "ECS service"):
        assert all(len(cells) == 2 and all(cells) for cells in table(SERVICE, heading).values()), heading


def test_numbers_of_the_task(talk: Served):
    rows, server = table(SERVICE, "Task definition"), talk.containers["server"]
    assert f"{talk.task['Memory']} MiB on an inf2.xlarge" in rows["memory"][0]
    assert rows["memory"][0].endswith(f"the server has {server['Memory']}")
    assert f"{server['LinuxParameters']['SharedMemorySize'] // 1024} GiB" in rows["`/dev/shm`"][0]
    limits = {each["Name"]: each["SoftLimit"] for each in server["Ulimits"]}
    assert f"`nofile` {limits['nofile']}" in rows["ulimits"][0]
    assert server["StopTimeout"] == 90 + 10
    assert "90 s unless set), and 10 s" in rows["`stopTimeout`"][0]
    assert f"`{CONTAINER_PATH}`" in rows["cache"][0]
    assert server["LogConfiguration"]["Options"]["max-buffer-size"] == "10m"


def test_numbers_of_the_service(talk: Served):
    percent = table(SERVICE, "ECS service")["minimum healthy percent"][0]
    assert re.findall(r"\d+", percent) == [str(least_healthy_percent(tasks)) for tasks in (1, 2, 3)]
    assert str(talk.service["Properties"]["DeploymentConfiguration"]["MaximumPercent"]) in str(
        table(SERVICE, "ECS service")
    )


def test_every_grant_and_output_is_documented(hub: Served):
    for name in vars(ServiceGrants):
        assert name.startswith("_") or f"chat.grants.{name}(" in SERVICE, name
    # Logical ids end with eight characters of a hash.
    ids = [key.removeprefix("Chat")[:-8] for key in hub.template["Outputs"]]
    assert len(ids) == 8
    assert [id for id in ids if f"`{id}`" not in SERVICE] == []


def test_the_maintenance_of_tgi_and_the_alternative_are_documented():
    assert "TGI is in maintenance mode" in SERVICE
    assert "HuggingFaceVllmServer(" in SERVICE


SCALING = (CONSTRUCTS / "inference-scaling.md").read_text()


def row(name: str) -> str:
    """The row of a table whose first cell is `name`."""
    found = re.findall(rf"^\| `?{re.escape(name)}`? \|.*$", SCALING, re.MULTILINE)
    assert len(found) == 1, name
    return str(found[0])


def test_every_setting_of_scaling_has_its_default():
    assert all(row(name) for name in (*Scaling.model_fields, "desired", "minimum", "maximum"))
    assert f"| {scaling_facts().queue_target:g} |" in row("queue_target")
    assert f"| {scaling_facts().desired}, within" in row("desired")


def test_every_alarm_has_its_remedy_in_the_table():
    for plan in alarm_plans(METRICS, Alarms(), neuron_health=True):
        cells = row(plan.id).strip("|").split("|")
        assert len(cells) == 4
        assert all(cell.strip() for cell in cells)


def test_every_threshold_is_documented_with_its_number():
    facts = alarm_facts()
    assert f"`time_to_first_token_seconds` (default {facts.time_to_first_token_seconds})" in row("TimeToFirstToken")
    assert f"`server_error_percent` (default {facts.error_percent})" in row("ServerErrors")
    assert f"{facts.load_balancer_errors} in 5 minutes" in row("LoadBalancerErrors")
    assert f"{facts.task_stops} tasks" in row("TaskStopped")
    assert set(Alarms.model_fields) - {"topic_arn"} <= set(re.findall(r"(\w+)=…", SCALING))


def test_numbers_of_scaling_are_those_of_the_catalog():
    scaling, collector = scaling_facts(), collector_facts()
    assert f"{scaling.scale_out_cooldown_seconds} seconds after a scale-out" in SCALING
    assert f"{scaling.scale_in_cooldown_seconds} seconds after a scale-in" in SCALING
    assert f"every {collector.scrape_seconds} seconds" in SCALING
    assert f"{collector.memory_mib} MiB and {collector.cpu_units} CPU units" in SCALING
    assert f"uses {neuron_health_facts().detector_memory_mib} MiB of the host" in SCALING


def test_every_metric_of_both_kinds_of_server_is_documented():
    for server in ("tgi", "aws-vllm"):
        assert all(f"`{metric.name}" in SCALING for metric in server_metrics(server).all)


def test_every_error_code_is_documented():
    assert all(code.value in SCALING for code in Code if "LF770" <= code.value <= "LF779")


def test_the_examples_of_scaling_run(stack: cdk.Stack):
    spec = run_examples(SCALING, stack)["spec"]
    assert isinstance(spec, ServiceSpec)
    assert (spec.tasks.minimum, spec.tasks.maximum) == (2, 6)
