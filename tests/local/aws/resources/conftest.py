"""One AWS emulator for all tests of resources, emptied before each test."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from moto import backends
from moto.iam.models import iam_backends
from moto.server import ThreadedMotoServer

from llm_fleet_local.aws.resources.catalog_provider import CatalogProvider
from llm_fleet_local.aws.resources.moto_fixes import install_moto_fixes
from tests.local.aws.resources.support import ACCOUNT, Deployer, Network

SERVICES = (
    *("fsx", "s3", "sagemaker", "kms", "lambda", "logs", "ssm", "secretsmanager", "sns", "cloudwatch", "ecr"),
    *("ecs", "elbv2", "autoscaling", "application-autoscaling", "wafv2", "events"),
    *("stepfunctions", "scheduler", "budgets", "sqs", "dynamodb"),
)


@pytest.fixture(scope="session")
def provider() -> Iterator[CatalogProvider]:
    """The provider with moto's corrected services, in this process."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    install_moto_fixes()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield CatalogProvider(f"http://localhost:{server.get_host_and_port()[1]}")
    server.stop()


@pytest.fixture
def deployer(provider: CatalogProvider) -> Deployer:
    """An empty account, except EC2 and AWS managed policies, whose creation takes seconds each time."""
    backend_of: Any = backends.get_backend
    for service in SERVICES:
        for account in list(backend_of(service).values()):
            account.reset()
    iam: dict[str, Any] = dict(iam_backends[ACCOUNT])
    for kept in iam.values():
        kept.roles.clear()
        kept.instance_profiles.clear()
    return Deployer(provider)


@pytest.fixture
def network(deployer: Deployer) -> Network:
    return Network(deployer)
