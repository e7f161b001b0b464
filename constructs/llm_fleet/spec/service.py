"""An inference service: a model behind an OpenAI-compatible endpoint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.catalog.service import collector_facts, neuron_health_facts, scaling_facts
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec import service_words as words
from llm_fleet.spec.front import Front
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.model_server import AnyServer, TgiServer
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.spec import PYTHON_ONLY, SHORTHAND, InRequest, Spec
from llm_fleet.spec.values import Days, Gibibytes, NeuronInstanceName, Seconds, TopicArn, WaitSeconds


class Capacity(StrEnum):
    """Who runs the instances under the service."""

    EC2 = "ec2"
    """An auto scaling group of ours: the host's driver is pinned, and S3 is mounted on it."""
    MANAGED_INSTANCES = "managed-instances"
    """ECS Managed Instances: AWS chooses image and driver, and nothing of ours runs on the host."""


class Hosts(Spec):
    """Who runs the instances under a service, and what they are made with. What is wrong with it is LF730 to LF738.

    On Managed Instances nothing of ours runs: no model is mounted from S3, and whether the driver goes with the
    image's runtime only the first start tells. assumption: managed-instances-driver
    """

    other_words: ClassVar[Mapping[str, str]] = words.OF_HOSTS

    capacity: Annotated[Capacity, SHORTHAND] = Capacity.EC2
    """Who runs them. Default: `ec2`, an auto scaling group whose driver is pinned and that mounts S3."""
    root_volume_gib: Annotated[Gibibytes | None, Field(alias="volume")] = None
    """Size of the root volume. Default: system, the server's image twice, and the
    model's cache."""
    ami: str | None = None
    """A release of the ECS Neuron AMI, in quotes, e.g. `"20260701"`, or an AMI id. Default: the newest release that is
    believed to carry the pinned driver."""
    driver_version: Annotated[str | None, Field(alias="driver")] = None
    """Version of `aws-neuronx-dkms`, in quotes. Default: the newest that goes with the server's image."""
    install_driver: bool | None = None
    """Whether a host whose AMI has another driver installs the pinned one at boot. Default: yes on `ec2`."""

    @property
    def managed(self) -> bool:
        """Whether AWS runs them."""
        return self.capacity is Capacity.MANAGED_INSTANCES

    @property
    def installs_driver(self) -> bool:
        """Whether the driver is installed at boot where it is another: as told, else where the hosts are ours."""
        return not self.managed if self.install_driver is None else self.install_driver


class Scaling(Spec):
    """By what a service grows and shrinks between `min` and `max`. What is wrong with it is LF772 to LF774."""

    queue_target: Annotated[float | None, Field(alias="queue")] = None
    """Requests that may wait in a task on average, beside the batch that is being generated. Default: 1."""
    requests_per_minute_target: Annotated[float | None, Field(alias="requests_per_minute")] = None
    """Requests that a task shall get in a minute, in place of the queue. Default: the queue is followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCount:
    """How many tasks there are, with every default filled in; a task has an instance to itself."""

    desired: int
    minimum: int
    maximum: int

    @property
    def scales(self) -> bool:
        """Whether the number changes by itself."""
        return self.minimum != self.maximum


class Alarms(Spec):
    """Who is called about a service, and from when on. An ARN is short for the topic alone. LF775 is a wrong number."""

    topic_arn: Annotated[TopicArn | None, SHORTHAND, Field(alias="topic")] = None
    """ARN of the SNS topic that alarms go to. Default: none; they show in CloudWatch alone."""
    time_to_first_token_seconds: Annotated[WaitSeconds | None, Field(alias="time_to_first_token")] = None
    """Average time to the first token over five minutes, three times on end. Default: `10 s`."""
    waiting_requests: float | None = None
    """Requests that wait in a task on average, for ten minutes. Default: twice the batch."""
    server_error_percent: float | None = None
    """Answers that are 5xx, of a hundred, in two of three times five minutes. Default: 5."""


class SidecarImages(Spec):
    """Images of what runs beside a server, for networks that cannot reach public registries: copies in your own ECR."""

    collector: str | None = None
    """The AWS Distro for OpenTelemetry Collector, which brings the server's metrics to CloudWatch."""
    problem_detector: str | None = None
    """Kubernetes' node problem detector with Neuron's rules."""
    recovery: str | None = None
    """Neuron's own program beside it, where sick hosts are replaced."""

    def image(self, name: str) -> str:
        """Return the image of the sidecar `name`, a field: as told, else its makers' in a public registry."""
        images = {
            "collector": self.collector or collector_facts().image,
            "problem_detector": self.problem_detector or neuron_health_facts().detector_image,
            "recovery": self.recovery or neuron_health_facts().recovery_image,
        }
        return images[name]

    def pulled(self, *, watched: bool, replaced: bool) -> Iterator[tuple[str, str]]:
        """Return what is pulled where devices are `watched` and sick hosts `replaced`, by the names of the keys."""
        yield "collector", self.image("collector")
        if watched:
            yield "problem_detector", self.image("problem_detector")
        if replaced:
            yield "recovery", self.image("recovery")


class ServiceSpec(Spec):
    """A model behind an OpenAI-compatible endpoint. Its key is the service's name, and what clients ask for.

    `InferenceService` refuses what is wrong with it, all at once (LF700 to LF789).
    """

    other_words: ClassVar[Mapping[str, str]] = words.OF_SERVICE

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Name of the service, its cluster and its log group. Default: one made of the construct's path."""
    model: Annotated[Model, Field(examples=[{"s3": "s3://my-models/tanuki-8b"}, "s3://my-models/tanuki-8b"])]
    """What is served: `s3://…`, an id of the Hub, or more about it."""
    instance_type: Annotated[NeuronInstanceName, Field(alias="instance", examples=["inf2.xlarge"])]
    """On what: an EC2 instance type with Neuron devices. A task has an instance to itself."""
    server: AnyServer = TgiServer()
    """What serves: `tgi`, `hugging-face-vllm`, `aws-vllm` or `aws-vllm-neuron`, or more about it. Default: `tgi`."""
    desired: Annotated[int | None, Field(alias="count")] = None
    """How many tasks. Default: 2, so that one serves while an update replaces the other, or `min` where that is more,
    or `max` where that is less. A service that scales begins with `min`."""
    minimum: Annotated[int | None, Field(alias="min")] = None
    """Never fewer. Default: `count`."""
    maximum: Annotated[int | None, Field(alias="max")] = None
    """Never more; above `min`, the service grows with its load. Default: `count`, which scales nothing."""
    scaling: Scaling = Scaling()
    """By what it grows and shrinks."""
    hosts: Hosts = Hosts()
    """Who runs the instances, and what they are made with."""
    front: Front = Front()
    """The load balancer, who reaches it and who may ask the model."""
    alarms: Alarms = Alarms()
    """Who is called, and from when on: the ARN of an SNS topic, or more about it. Default: nobody."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 30
    """How long logs are kept. Default: `30 days`."""
    health_check_grace_seconds: Annotated[Seconds | None, Field(alias="load_time")] = None
    """How long a task may take to load the model before its health counts. Default: by the server and the model."""
    execute_command: Annotated[bool, InRequest("enable_execute_command")] = False
    """Whether `aws ecs execute-command` opens a shell in a task. Default: no; who has one has the model and the key."""
    neuron_health: bool = True
    """Whether a daemon watches the Neuron devices of hosts. Default: yes on `ec2`."""
    replace_sick_hosts: bool = False
    """Whether a host with a sick device is ended and replaced, without draining. Default: no; an alarm goes off."""
    sidecar_images: SidecarImages = SidecarImages()
    """Images of what runs beside the server. Default: those of their makers, in public registries."""

    @property
    def tasks(self) -> TaskCount:
        """How many tasks there are."""
        desired = self._default_desired() if self.desired is None else self.desired
        return TaskCount(
            desired=desired,
            minimum=desired if self.minimum is None else self.minimum,
            maximum=desired if self.maximum is None else self.maximum,
        )

    @property
    def queue_target(self) -> float:
        """How many requests may wait in a task on average."""
        told = self.scaling.queue_target
        return scaling_facts().queue_target if told is None else told

    @property
    def watches_devices(self) -> bool:
        """Whether a daemon watches the devices: only hosts of ours can run one that sees them."""
        return self.neuron_health and not self.hosts.managed

    @property
    def replaces_sick_hosts(self) -> bool:
        """Whether a host with a sick device is replaced."""
        return self.replace_sick_hosts and self.watches_devices

    def pulled(self) -> Iterator[tuple[str, str]]:
        """Return the images beside the server's that hosts pull, by the fields of `SidecarImages`."""
        return self.sidecar_images.pulled(watched=self.watches_devices, replaced=self.replaces_sick_hosts)

    def _default_desired(self) -> int:
        """Return how many tasks there are between the bounds: the catalog's number, or the bound that is nearest."""
        least, most = self.minimum, self.maximum
        if least is not None and is_unresolved(least):
            return least
        desired = max(1, scaling_facts().desired, least or 1)
        return desired if most is None or is_unresolved(most) else max(1, min(desired, most))


class ExportSpec(Spec):
    """A task, run by hand, that compiles a checkpoint with the serving image, and writes it where `model` says."""

    other_words: ClassVar[Mapping[str, str]] = words.OF_EXPORT

    source: Annotated[
        Model,
        Field(examples=[{"hub": "meta-llama/Llama-3.1-8B-Instruct"}, "meta-llama/Llama-3.1-8B-Instruct"]),
    ]
    """The checkpoint: an id of the Hub, `s3://…`, or more about it."""
    instance_type: Annotated[NeuronInstanceName | None, Field(alias="instance")] = None
    """On what it is compiled. Default: the smallest type of the service's family that can; none runs in between."""
    hosts: Annotated[Hosts, Field(alias=PYTHON_ONLY)] = Hosts()
    """What that host is made with: hosts of ours. Default: as those of a service."""
    fargate: bool = False
    """Whether it is compiled on Fargate, without Neuron devices. Default: no; `hugging-face-vllm` alone can."""
    tools_image: str | None = None
    """Image with the AWS CLI, which fetches and writes, for networks that cannot reach public.ecr.aws."""
