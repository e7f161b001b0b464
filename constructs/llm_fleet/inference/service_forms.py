"""Of what class each argument of a service, or of an export, is, and an example for who gave something else."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.inference.alarm_thresholds import AlarmThresholds
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.front import Front
from llm_fleet.inference.managed_hosts import ManagedHosts
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.inference.scaling import Scaling
from llm_fleet.inference.sidecar_images import SidecarImages
from llm_fleet.rules.inference.forms import Form, check_forms
from llm_fleet.rules.problem import Problem

_BOOL = Form(wanted="True or False", types=(bool,), remedy="write True or False, without quotes")
_FORMS: Mapping[str, Form] = {
    "network": Form(
        wanted="a network of llm-fleet",
        has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
        remedy='write FleetNetwork(self, "Network", availability_zone_ids=["usw2-az1", "usw2-az2"]), or '
        "ExistingNetwork(…) for a VPC that there is",
    ),
    "source": Form(wanted="a Model", types=(Model,), remedy='write Model.from_hub("owner/name"), or another place'),
    "model": Form(
        wanted="a Model", types=(Model,), remedy='write Model.from_s3("s3://my-models/tanuki-8b"), or another place'
    ),
    "hosts": Form(
        wanted="Ec2Hosts or ManagedHosts",
        types=(Ec2Hosts, ManagedHosts),
        remedy='write Ec2Hosts(instance_type="inf2.xlarge")',
    ),
    "front": Form(
        wanted="a Front",
        types=(Front,),
        remedy='write Front(certificate_arn="arn:aws:acm:…"), or, where plain HTTP will do, Front(plain_http=True)',
    ),
    "server": Form(wanted="a ModelServer", types=(ModelServer,), remedy="write ModelServer.tgi(), or another server"),
    "scaling": Form(wanted="a Scaling", types=(Scaling,), remedy="write Scaling(desired=2)"),
    "alarm_thresholds": Form(
        wanted="AlarmThresholds", types=(AlarmThresholds,), remedy="write AlarmThresholds(…), or leave it out"
    ),
    "sidecar_images": Form(
        wanted="SidecarImages", types=(SidecarImages,), remedy="write SidecarImages(…), or leave it out"
    ),
    "execute_command": _BOOL,
    "neuron_health": _BOOL,
    "replace_sick_hosts": _BOOL,
}


def check_arguments(**arguments: Any) -> list[Problem]:
    """Return a problem for each of `arguments` that is of another class, by its name."""
    return check_forms(arguments, _FORMS)
