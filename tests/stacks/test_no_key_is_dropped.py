"""Every key of the fleet file is used in a construct or in a batch file."""

import re
from collections.abc import Iterator

import pytest

from llm_fleet.catalog.model_server import server_settings
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.spec.model import FleetModel, model_at
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.smp import SmpConfiguration
from llm_fleet.spec.spec import PYTHON_ONLY, InRequest, Spec
from tools.synth_environment import ROOT

# `kind` chooses the model.
ONLY_CHOOSES = {"kind"}
# Keys for the command, without a stack.
ONLY_RUN = {"jobs"}
# Keys that a rule compares with the AZ of a group, and that are in no API.
ONLY_CHECKED = {"training_plan_availability_zone_id", "sssd_on_image"}


def name_of(model: type[FleetModel]) -> str:
    return model.__name__


def models(seen: type[FleetModel] = FleetModel) -> Iterator[type[FleetModel]]:
    for key in Fleet.model_fields:  # A kind that a fleet does not have is imported with the first access.
        model_at(Fleet, (key, "x"))
    for model in seen.__subclasses__():
        if model.__module__.startswith("llm_fleet."):  # Tests make some of their own.
            yield model
        yield from models(model)


def text(*patterns: str) -> str:
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


STACKS = text("stacks/llm_fleet_stacks/*.py")
# Properties and methods that a model derives from its keys for the stacks.
MODELS = text("constructs/llm_fleet/fleet_file/[!j]*.py")
# Jobs have no resources: the code that writes batch files reads them, some by the names of their keys.
JOBS = text(*(f"constructs/llm_fleet/{files}" for files in ("jobs/*.py", "fleet_file/*jobs.py", "rules/training/*.py")))
# A field of the shape that only services use: how a served model's weights are stored.
NOT_OF_TRAINING = {"bytes_per_parameter"}
SMP = text("constructs/llm_fleet/catalog/data/smp_v2.json")


# Constructs receive a spec unchanged.
CONSTRUCTS = STACKS + text(
    "constructs/llm_fleet/sagemaker/*.py",
    "constructs/llm_fleet/accounting/*.py",
    "constructs/llm_fleet/hyperpod/*.py",
    "constructs/llm_fleet/lifecycle/*.py",
    "constructs/llm_fleet/network/*.py",
    "constructs/llm_fleet/storage/*.py",
    "constructs/llm_fleet/parallelcluster/*.py",
    "constructs/llm_fleet/inference/*.py",
    "constructs/llm_fleet/monitoring/*.py",
    "constructs/llm_fleet/notifications/*.py",
    "constructs/llm_fleet/rules/inference/*.py",
    "constructs/llm_fleet/rules/training/run_*.py",
    "constructs/llm_fleet/fleet_file/*service.py",
    "constructs/llm_fleet/fleet_file/*sagemaker.py",
    "constructs/llm_fleet/fleet_file/check_monitoring.py",
    "constructs/llm_fleet/spec/*.py",
    # Modules that derive an endpoint's image and its variables; rules that only check are in other modules.
    "constructs/llm_fleet/rules/sagemaker/endpoint.py",
    "constructs/llm_fleet/rules/sagemaker/endpoint_image.py",
)


OF_JOBS = ("llm_fleet.fleet_file.jobs", "llm_fleet.jobs.", "llm_fleet.spec.jobs")


def is_of_jobs(model: type[FleetModel]) -> bool:
    return model.__module__.startswith(OF_JOBS) or model is SmpConfiguration


def settings_of(model: type[FleetModel]) -> set[str]:
    """Return the settings that a server's process reads by the names in the catalog."""
    return {name for kind in ServerKind for name in server_settings(kind)} if issubclass(model, ModelServer) else set()


def is_spec(model: type[FleetModel]) -> bool:
    return issubclass(model, Spec)


@pytest.mark.parametrize(
    "model",
    sorted(
        {
            one
            for one in models()
            if one.__module__.startswith("llm_fleet.") and not is_of_jobs(one) and one is not Spec
        },
        key=name_of,
    ),
    ids=name_of,
)
def test_every_field_is_used_by_the_stacks(model: type[FleetModel]):
    unread = [
        field
        for field, facts in model.model_fields.items()
        if field not in ONLY_CHOOSES | ONLY_CHECKED | ONLY_RUN | settings_of(model)
        and not any(isinstance(each, InRequest) for each in facts.metadata)
        and not model.key_of(field).startswith(PYTHON_ONLY)
        and not re.search(rf'\.{field}\b|figure\("{field}"\)', CONSTRUCTS if is_spec(model) else STACKS)
        and not re.search(rf"\bself\.{field}\b", MODELS)
    ]
    assert unread == []


@pytest.mark.parametrize("model", sorted({one for one in models() if is_of_jobs(one)}, key=name_of), ids=name_of)
def test_every_field_of_a_job_is_used_in_batch_files(model: type[FleetModel]):
    readers = JOBS + (SMP if model.__module__.endswith(".smp") else "")
    fields = set(model.model_fields) - NOT_OF_TRAINING
    assert [field for field in fields if not re.search(rf'\.{field}\b|"{field}"', readers)] == []
