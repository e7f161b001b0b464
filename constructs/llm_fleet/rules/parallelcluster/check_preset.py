"""Which instance types a preset of a queue is for."""

from typing import Literal

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

Preset = Literal["trainium", "gpu"]

_TRAINIUM = "trn"
"""How EC2 names every family of Trainium, those that the catalog does not have yet among them."""
_FOR = {"trainium": "Trainium, e.g. trn1.32xlarge", "gpu": "GPUs, e.g. p5.48xlarge"}


def check_preset(preset: Preset, instance_type: str) -> list[Problem]:
    """Check that `preset` is made for `instance_type`; one that is not known passes where its name may be right."""
    if is_unresolved(instance_type) or _fits(preset, instance_type):
        return []
    return [
        Problem(
            code=Code.PC_PRESET_TYPE,
            message=f"Queue.{preset} is for other instances than these",
            remedy=_remedy(instance_type),
            path=("instance_type",),
            value=instance_type,
            allowed=f"instance types with {_FOR[preset]}",
        )
    ]


def _fits(preset: Preset, instance_type: str) -> bool:
    trainium = instance_type.startswith(_TRAINIUM)
    if preset == "trainium":
        return trainium
    facts = ec2_facts_of(instance_type)
    return not trainium and (facts is None or facts.accelerator == "gpu")


def _remedy(instance_type: str) -> str:
    if instance_type.startswith(_TRAINIUM):
        return "use Queue.trainium"
    facts = ec2_facts_of(instance_type)
    if facts is None:
        return "write the name as EC2 does, without ml."
    if facts.accelerator == "gpu":
        return "use Queue.gpu"
    return "use Queue.cpu" if facts.accelerator is None else "make a Queue with a ComputeResource of this type"
