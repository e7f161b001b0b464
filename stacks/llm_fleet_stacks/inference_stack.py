"""The stack of one inference service. It comes and goes; network and storage stay, and the model in its bucket."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.services.own_bucket import own_bucket
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.config.services.view import service_name
from llm_fleet.inference.alarm_thresholds import AlarmThresholds
from llm_fleet.inference.inference_service import InferenceService
from llm_fleet.network.network import Network
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.inference_values import front_from, hosts_from, model_from, scaling_from, sidecar_images_from
from llm_fleet_stacks.model_servers import server_from
from llm_fleet_stacks.storage_stack import StorageStack


class InferenceStack(FleetStack):
    """A model behind an OpenAI-compatible endpoint, on the network of its fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ServiceConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make the service that `config` of `fleet` describes.

        `storage` has the fleet's own buckets, and the key that encrypts logs. `network`: one that another stack has
        made, or the description of an existing one. `env`: default, the one that the CDK CLI is called with. `tags`:
        default, none.
        """
        super().__init__(scope, id, description="Inference service of an LLM fleet", env=env, tags=tags)
        here = network_for(self, network)
        assert here is not None
        alarms = config.alarms
        self.service = InferenceService(
            self,
            "Service",
            network=here,
            model=model_from(
                config.model, own=own_bucket(config.model, fleet), buckets=storage.buckets, served_name=config.name
            ),
            server=server_from(config.server),
            hosts=hosts_from(config),
            front=front_from(config.front),
            scaling=scaling_from(config),
            service_name=service_name(fleet.name, config),
            encryption_key=storage.key,
            log_retention_days=config.log_retention_days,
            health_check_grace_seconds=config.health_check_grace_seconds,
            execute_command=config.execute_command,
            alarm_topic=sns.Topic.from_topic_arn(self, "AlarmTopic", alarms.topic_arn) if alarms.topic_arn else None,
            alarm_thresholds=AlarmThresholds(
                time_to_first_token_seconds=alarms.time_to_first_token_seconds,
                waiting_requests=alarms.waiting_requests,
                server_error_percent=alarms.server_error_percent,
            ),
            neuron_health=config.neuron_health,
            replace_sick_hosts=config.replace_sick_hosts,
            sidecar_images=sidecar_images_from(config.sidecar_images),
        )
        """The service."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.service).add(key, value)
        self.service.add_outputs()
