"""Cards of what SageMaker runs itself: endpoints, notebooks, Studio, training jobs."""

import re
from collections.abc import Callable, Iterator, Mapping

from llm_fleet.cli.plan.picture.names import count, short, wrapped
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View

_MACHINES = re.compile(r'"InstanceType":"([^"]+)","InstanceCount":(\d+)')
"""In the definition of a state machine, which is JSON with references between its pieces."""


def sagemaker_things(view: View) -> Iterator[Thing]:
    """Give each of them."""
    for type, reader in _READERS.items():
        for resource in view.of_type(type):
            if (thing := reader(view, resource)) is not None:
                yield thing


def _endpoint(view: View, endpoint: Resource) -> Thing:
    parts = view.body(endpoint)
    variants = [one for part in parts for one in part.properties.get("ProductionVariants", ())]
    lines = [
        count(one.get("InitialInstanceCount", 1), one["InstanceType"]) for one in variants if "InstanceType" in one
    ]
    subnets = tuple(key for part in parts for key in view.places(part, part.properties.get("VpcConfig")))
    return _card(view, endpoint, "Endpoint", "EndpointName", tuple(lines), subnets)


def _notebook(view: View, notebook: Resource) -> Thing:
    places = view.places(notebook, notebook.properties.get("SubnetId"))
    return _card(view, notebook, "Notebook", "NotebookInstanceName", (notebook.properties["InstanceType"],), places)


def _studio(view: View, domain: Resource) -> Thing:
    profiles = [
        view.references.told(one.properties["UserProfileName"])
        for one in view.of_type("AWS::SageMaker::UserProfile")
        if domain in view.named(one, one.properties.get("DomainId"))
    ]
    lines = (str(domain.properties.get("AppNetworkAccessType", "")), *wrapped(profiles)[:3])
    return _card(view, domain, "Studio", "DomainName", lines, view.places(domain, domain.properties.get("SubnetIds")))


def _training_job(view: View, machine: Resource) -> Thing | None:
    """Return the card of a state machine that creates training jobs; of another there is none."""
    definition = machine.properties.get("DefinitionString")
    found = _MACHINES.search(view.references.told(definition))
    if found is None:
        return None
    lines = (count(found.group(2), found.group(1)),)
    return _card(view, machine, "Training job", "StateMachineName", lines, view.places(machine, definition))


def _card(
    view: View, resource: Resource, kind: str, name: str, lines: tuple[str, ...], subnets: tuple[str, ...]
) -> Thing:
    return Thing(
        key=resource.key,
        title=short(f"{kind} {view.references.told(resource.properties.get(name, ''))}".strip()),
        lines=tuple(line for line in lines if line),
        tone=Tone.COMPUTE,
        column=Column.COMPUTE,
        stack=resource.stack,
        subnets=tuple(dict.fromkeys(subnets)),
    )


_READERS: Mapping[str, Callable[[View, Resource], Thing | None]] = {
    "AWS::SageMaker::Endpoint": _endpoint,
    "AWS::SageMaker::NotebookInstance": _notebook,
    "AWS::SageMaker::Domain": _studio,
    "AWS::StepFunctions::StateMachine": _training_job,
}
