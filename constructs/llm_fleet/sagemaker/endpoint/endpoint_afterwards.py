"""What comes after an endpoint: what scales it, what ends it, and what it may cost."""

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.sagemaker.endpoint.endpoint_reaper import EndpointReaper
from llm_fleet.sagemaker.endpoint.endpoint_scaler import EndpointScaler
from llm_fleet.sagemaker.endpoint.monthly_budget import MonthlyBudget
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations


class EndpointAfterwards(Construct):
    """Scaling, end and budget of an endpoint, each where it was asked for."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        operations: EndpointOperations,
        endpoint_name: str,
        variant_name: str,
        instance_count: int,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_config: sagemaker.CfnEndpointConfig,
        model: sagemaker.CfnModel,
    ) -> None:
        """Make what `operations` asks for, around `endpoint`; tag it and its parts, so that a budget can count them."""
        super().__init__(scope, id)
        for part in (endpoint, endpoint_config, model):
            cdk.Tags.of(part).add(budget_facts().tag, endpoint_name)
        self.scaler = operations.scaling and EndpointScaler(
            self,
            "Scaling",
            scaling=operations.scaling,
            endpoint_name=endpoint_name,
            variant_name=variant_name,
            instance_count=instance_count,
            endpoint=endpoint,
        )
        """What scales it; `None` where its number of instances is fixed."""
        self.reaper = operations.time_to_live and EndpointReaper(
            self,
            "TimeToLive",
            time_to_live=operations.time_to_live,
            operations=operations,
            endpoint_name=endpoint_name,
            variant_name=variant_name,
            endpoint=endpoint,
            endpoint_config=endpoint_config,
            model=model,
        )
        """What ends it; `None` where it stays."""
        self.budget = operations.budget and MonthlyBudget(
            self, "Budget", budget=operations.budget, endpoint_name=endpoint_name, topic=operations.alarm_topic
        )
        """What it may cost; `None` where nobody asked."""
