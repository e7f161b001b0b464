"""Quotas of instances."""

import pytest
from moto.servicequotas.resources.default_quotas.vpc import VPC_DEFAULT_QUOTAS

from llm_fleet.catalog.aws_api import machine_quota, named_quota, vcpu_quota
from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import ec2_instance_names
from llm_fleet.needs.machines import CapacitySource, MachineService


@pytest.mark.parametrize(
    ("instance_type", "spot", "code"),
    [
        ("trn1.32xlarge", False, "L-2C3B7624"),
        ("trn2.48xlarge", True, "L-6B0D517C"),
        ("inf2.xlarge", False, "L-1945791B"),
        ("p5.48xlarge", False, "L-417A185B"),
        ("p5en.48xlarge", True, "L-C4BD4855"),
        ("p4d.24xlarge", True, "L-7212CCBC"),
        ("g5.xlarge", False, "L-DB2E81BA"),
        ("m5.xlarge", False, "L-1216C47A"),
        ("i3en.24xlarge", True, "L-34B43A08"),
        ("im4gn.large", False, "L-1216C47A"),
        ("hpc7g.16xlarge", False, "L-F7808C92"),
    ],
)
def test_the_vcpu_quota_of_a_type_depends_on_its_family(instance_type: str, spot: bool, code: str):
    quota = vcpu_quota(instance_type, spot=spot)
    assert quota is not None
    assert quota.code == code


def test_every_type_with_accelerators_has_a_quota():
    families = ("trn", "inf", "p", "g")
    ours = [name for name in ec2_instance_names() if name.rstrip("0123456789").startswith(families)]
    assert [name for name in ours if vcpu_quota(name, spot=False) is None] == []


def test_the_quota_of_a_sagemaker_type_depends_on_its_use():
    kinds = {service: machine_quota(service.value, "ml.g5.xlarge", capacity="on-demand") for service in MachineService}
    assert {service: quota.name for service, quota in kinds.items() if quota is not None} == {
        MachineService.HYPERPOD: "ml.g5.xlarge for cluster usage",
        MachineService.ENDPOINT: "ml.g5.xlarge for endpoint usage",
        MachineService.TRAINING_JOB: "ml.g5.xlarge for training job usage",
        MachineService.NOTEBOOK: "ml.g5.xlarge for notebook instance usage",
        MachineService.STUDIO: "Studio JupyterLab Apps running on ml.g5.xlarge instances",
    }


def test_services_and_capacity_sources_are_those_of_the_catalog():
    facts = load("service_quotas")["of_machines"]
    assert set(facts) <= {service.value for service in MachineService}
    assert {word for kinds in facts.values() for word in kinds} <= {source.value for source in CapacitySource}
    assert machine_quota("hyperpod", "ml.p5.48xlarge", capacity=CapacitySource.TRAINING_PLAN.value) is None


def test_quota_codes_of_the_vpc_are_those_of_aws():
    aws = {quota["QuotaName"]: quota["QuotaCode"] for quota in VPC_DEFAULT_QUOTAS}
    for key in ("vpcs", "internet-gateways", "nat-gateways", "network-interfaces"):
        quota = named_quota(key)
        assert aws[quota.name] == quota.code
