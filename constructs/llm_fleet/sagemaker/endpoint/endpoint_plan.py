"""An endpoint as it is asked for, judged, and what follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_instance, image_account_of
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.rules.log_retention import check_retention_days
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_ami import ami_for
from llm_fleet.rules.sagemaker.endpoint_check import check_endpoint
from llm_fleet.rules.sagemaker.endpoint_choice import download_seconds, startup_seconds, variables, volume_gib
from llm_fleet.rules.sagemaker.endpoint_image import image_facts, image_kind
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind, EndpointModelSource
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker.endpoint.endpoint_image import EndpointImage
from llm_fleet.sagemaker.endpoint.endpoint_model import EndpointModel
from llm_fleet.sagemaker.endpoint.neuron_settings import NeuronSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPlan:
    """What an endpoint is made of (`EndpointLike`)."""

    name: str
    region: str | None
    model: EndpointModel
    image: EndpointImage
    instance_type: str
    instance_count: int
    inference_ami: str | None
    neuron: NeuronSettings | None
    volume_gib: int | None
    download_timeout_seconds: int | None
    startup_timeout_seconds: int | None
    network_isolation: bool
    environment: Mapping[str, str]
    log_retention_days: int

    def check(self, network: Network | None) -> list[Problem]:
        """Return all that is wrong with it in `network`."""
        return [
            *check_endpoint(self, internet=network.internet if network else None, in_network=network is not None),
            *check_retention_days(self.log_retention_days, SageMakerCode.ENDPOINT_NUMBER, "log_retention_days"),
            *self._repository_is_known(),
        ]

    def claims(self, network: Network, *, most: int) -> list[AddressClaim]:
        """Return what at most `most` instances take of each compute subnet: twice as many, while an update runs."""
        zones = network.availability_zone_ids
        if is_unresolved(most) or not zones:
            return []
        return [
            AddressClaim(
                owner=self.name,
                what=self.instance_type,
                count=2 * -(-most // len(zones)),
                addresses_each=1,
                availability_zone_id=zone,
            )
            for zone in zones
        ]

    @property
    def instance(self) -> EndpointInstance:
        """The facts of its instance type, which the rules have found to be there."""
        facts = endpoint_instance(self.instance_type)
        assert facts is not None
        return facts

    @property
    def kind(self) -> EndpointImageKind | None:
        """What serves; `None` for an image of the user's own."""
        return image_kind(self.image, self.instance)

    @property
    def variables(self) -> Mapping[str, str]:
        """The container's environment."""
        return {**variables(self, self.instance), **self.environment}

    @property
    def ami(self) -> str | None:
        """What the instances boot from; `None` for SageMaker's own choice."""
        chosen = ami_for(self.image, self.instance)
        return self.inference_ami or (chosen.name if chosen else None)

    @property
    def startup_seconds(self) -> int:
        """How long a container may take until it answers."""
        return startup_seconds(self, self.instance)

    @property
    def download_seconds(self) -> int | None:
        """How long the model's files may take; `None` where SageMaker fetches none."""
        return download_seconds(self, self.instance)

    @property
    def volume(self) -> int | None:
        """The size of an instance's EBS volume, in GiB; `None` where it has disks of its own."""
        return volume_gib(self, self.instance)

    @property
    def bucket_and_path(self) -> tuple[str, str] | None:
        """Where in S3 the model is; `None` for one on the Hub."""
        return None if self.model.source is EndpointModelSource.HUB else bucket_and_prefix(self.model.location)

    def image_uri(self, *, url_suffix: str) -> str:
        """Return the image's address; `url_suffix` is that of the partition."""
        facts = image_facts(self.image, self.instance)
        if facts is None:
            assert self.image.uri is not None
            return self.image.uri
        assert self.region is not None
        return f"{image_account_of(self.region)}.dkr.ecr.{self.region}.{url_suffix}/{facts.repository}:{facts.tag}"

    def repository_arn(self, *, partition: str) -> str:
        """Return the ARN of the one repository that is pulled from."""
        if self.image.repository_arn is not None:
            return self.image.repository_arn
        registry, _, path = self.image_uri(url_suffix="").partition("/")
        account, region = registry.split(".")[0], registry.split(".")[3]
        return f"arn:{partition}:ecr:{region}:{account}:repository/{path.partition('@')[0].partition(':')[0]}"

    def _repository_is_known(self) -> list[Problem]:
        if self.image.uri is None or self.image.repository_arn is not None or not is_unresolved(self.image.uri):
            return []
        return [
            Problem(
                code=SageMakerCode.ENDPOINT_IMAGE,
                path=("image", "uri"),
                message="the URI is known only at deploy time, and the role may pull from one repository only",
                remedy="write EndpointImage.from_ecr(repository, tag)",
            )
        ]
