"""Cards of what watches: alarms, topics, queues, tables, functions that events start, budgets, workspaces."""

from collections.abc import Iterator

from llm_fleet.cli.plan.picture.names import construct_name, short, some
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View

ALARM, TOPIC, QUEUE, FUNCTION = "AWS::CloudWatch::Alarm", "AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::Lambda::Function"
_KINDS = {
    TOPIC: "SNS topic",
    QUEUE: "SQS queue",
    "AWS::DynamoDB::Table": "DynamoDB table",
    "AWS::Budgets::Budget": "Budget",
    "AWS::APS::Workspace": "Managed Prometheus",
    "AWS::Grafana::Workspace": "Managed Grafana",
}
_STARTERS = ("AWS::Events::Rule", "AWS::Lambda::EventSourceMapping", "AWS::Scheduler::Schedule")
_MOST_ALARMS = 4


def watch_things(view: View) -> Iterator[Thing]:
    """Give each of them; the alarms of a stack are one card."""
    for stack in view.assembly.stacks:
        alarms = [one for one in stack.resources.values() if one.type == ALARM]
        dashboards = sum(one.type == "AWS::CloudWatch::Dashboard" for one in stack.resources.values())
        if alarms:
            yield _alarms(view, alarms, dashboards)
    for resource in view.of_type(*_KINDS):
        yield _card(resource, _KINDS[resource.type], (_name(resource),))
    started = {
        one.key for starter in view.of_type(*_STARTERS) for one in view.named(starter, starter.properties, FUNCTION)
    }
    for function in view.of_type(FUNCTION):
        if function.key in started:
            yield _card(function, "Lambda function", (_name(function),))


def _alarms(view: View, alarms: list[Resource], dashboards: int) -> Thing:
    names = [_alarm_name(view, one) for one in alarms]
    title = "1 alarm" if len(alarms) == 1 else f"{len(alarms)} alarms"
    also = "" if not dashboards else ", 1 dashboard" if dashboards == 1 else f", {dashboards} dashboards"
    return _card(alarms[0], title + also, some((short(name) for name in names), _MOST_ALARMS))


def _alarm_name(view: View, alarm: Resource) -> str:
    """Return its name without the stack's at its front, which the card says anyway."""
    name = alarm.properties.get("AlarmName")
    told = view.references.told(name) if name is not None else _name(alarm)
    return told.removeprefix(f"{alarm.stack}-")


def _name(resource: Resource) -> str:
    """Return the name of its construct."""
    return construct_name(resource.path, resource.logical_id)


def _card(resource: Resource, title: str, lines: tuple[str, ...]) -> Thing:
    return Thing(
        key=resource.key, title=title, lines=lines, tone=Tone.WATCH, column=Column.REGION, stack=resource.stack
    )
