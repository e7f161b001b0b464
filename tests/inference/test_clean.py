"""Templates of services, load balancers and capacity pass cdk-nag and the other checkers."""

import aws_cdk as cdk
import pytest

from llm_fleet import (
    Alarms,
    AlarmTopic,
    Authentication,
    FleetKey,
    FleetNetwork,
    Front,
    Hosts,
    HuggingFaceVllmServer,
    InferenceService,
    Model,
    ServiceSpec,
)
from llm_fleet.spec.service import Capacity
from tests.clean import FINDERS, all_findings, cfn_lint_findings, description_findings, nag_findings, validator_findings
from tests.inference.capacities import Both, both
from tests.inference.services import CERTIFICATE, EXISTING, TOKEN_SECRET

# The CDK's validator has the same engine as cloudformation-validate, and takes as long as all others together.
_READERS = [finder for finder in FINDERS if finder not in (nag_findings, validator_findings)]


def test_no_checker_finds_anything_in_fronts(app: cdk.App, all_fronts: cdk.Stack):
    # cdk-nag must be added before synthesis; the others read the templates.
    assert [found for finder in (nag_findings, *_READERS) for found in finder(app)] == []


_NOT_OURS = ("/OwnCluster:", "/ManagedCluster:", "/Logs:")


def test_cfn_lint_finds_nothing_in_hosts(capacities: Both):
    assert cfn_lint_findings(capacities.app) == []


def test_ec2_accepts_every_description_of_hosts(capacities: Both):
    assert description_findings(capacities.app) == []


def test_cdk_nag_finds_nothing_in_hosts():
    findings = nag_findings(both().app)
    assert [found for found in findings if not any(other in found for other in _NOT_OURS)] == []
    assert findings, "cdk-nag has findings about the plain clusters of this test"


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """Two services with most features, on hosts of both kinds, in an existing VPC."""
    network = FleetNetwork.from_attributes(stack, "Network", EXISTING)
    InferenceService(
        stack,
        "Chat",
        ServiceSpec(
            model=Model(s3_uri="s3://my-models/tanuki-8b"),
            instance_type="inf2.24xlarge",
            minimum=1,
            maximum=4,
            front=Front(certificate_arn=CERTIFICATE, public=True, allowed_cidrs=("203.0.113.0/24",)),
            execute_command=True,
            alarms=Alarms(topic_arn=AlarmTopic(stack, "Calls").topic_arn),
            replace_sick_hosts=True,
        ),
        network=network,
        encryption_key=FleetKey(stack, "Key"),
    ).add_outputs()
    InferenceService(
        stack,
        "Managed",
        ServiceSpec(
            model=Model(hub_id="meta-llama/Llama-3.1-8B-Instruct", token_secret_arn=TOKEN_SECRET),
            server=HuggingFaceVllmServer(),
            instance_type="inf2.24xlarge",
            hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES),
            front=Front(plain_http=True, authentication=Authentication.NONE),
        ),
        network=network,
    )
    return stack


def test_no_checker_finds_anything_in_a_service(app: cdk.App, everything: cdk.Stack) -> None:
    assert all_findings(app) == []
