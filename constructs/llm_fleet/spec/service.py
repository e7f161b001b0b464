"""An inference service on ECS: how clients reach it, its instances, its server, its model, how it grows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.catalog.service import collector_facts, front_facts, neuron_health_facts, scaling_facts
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.model_server import AnyServer, TgiServer
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.spec import PYTHON_ONLY, SHORTHAND, InRequest, Spec
from llm_fleet.spec.values import Days, Gibibytes, NeuronInstanceName, Seconds, SecretArn, TopicArn, WaitSeconds

OF_FRONT: Mapping[str, str] = {
    "cert": "write `certificate`, the ARN of a certificate in ACM",
    "https": "write `certificate`, the ARN of a certificate in ACM",
    "tls": "write `certificate`, the ARN of a certificate in ACM",
    "internet_facing": "write `public: true` and `allowed_from`",
    "scheme": "write `public: true` and `allowed_from`, or leave it private",
    "cidrs": "write `allowed_from`",
    "allowed_cidrs": "write `allowed_from`",
    "allow": "write `allowed_from`",
    "apikey": "write `auth: api-key`",
    "api_key": "write `auth: api-key`, and `api_key_secret` for a secret that exists",
    "authentication": "write `auth`",
    "idle_timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "oidc": "write `auth: jwt`: OIDC of a load balancer sends browsers to a page; clients of an API follow none",
    "cognito": "write `auth: jwt`, with the user pool as its issuer",
}
"""Below `front`."""

OF_JWT: Mapping[str, str] = {
    "jwks_uri": "write `jwks`",
    "jwks_url": "write `jwks`",
    "audience": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "aud": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "scope": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
    "scopes": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
}
"""Below `jwt`."""


class Authentication(StrEnum):
    """Who may ask the model."""

    API_KEY = "api-key"
    """Who has the key in Secrets Manager; the server checks it."""
    JWT = "jwt"
    """Who has a token of the named issuer; the load balancer checks it. HTTPS only."""
    NONE = "none"
    """Everybody who reaches the load balancer."""


class ClaimFormat(StrEnum):
    """How a token writes a claim; Elastic Load Balancing's names."""

    SINGLE_STRING = "single-string"
    """One text, as `client_id` mostly is."""
    STRING_ARRAY = "string-array"
    """A list of texts, as `aud` mostly is."""
    SPACE_SEPARATED = "space-separated-values"
    """Words in one text, as `scope` is."""


class JwtClaim(Spec):
    """A claim that a token must have."""

    name: Annotated[str, Field(examples=["aud"])]
    """The claim, e.g. `aud` or `scope`. Those that are always checked are refused: `exp`, `iss`, `nbf`, `iat`."""
    values: Annotated[tuple[str, ...], Field(examples=[["chat"], "[chat]"])]
    """What it must be or hold. One to ten texts of up to 256 characters."""
    format: ClaimFormat = ClaimFormat.SINGLE_STRING
    """How the token writes it. Default: `single-string`."""


class Jwt(Spec):
    """The issuer whose tokens let clients in, and what its tokens must say.

    The load balancer checks signature, issuer and expiry, and `nbf` and `iat` where a token has them. It knows RS256
    alone, and key sets of up to 10 keys and 150 KB
    (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html).
    """

    other_words: ClassVar[Mapping[str, str]] = OF_JWT

    issuer: Annotated[str, Field(examples=["https://idp.example.com/"])]
    """The `iss` claim of its tokens, an https URL. It has up to 256 characters."""
    jwks_endpoint: Annotated[str, Field(alias="jwks", examples=["https://idp.example.com/.well-known/jwks.json"])]
    """Where its public keys are, an https URL that the load balancer reaches over the internet."""
    claims: tuple[JwtClaim, ...] = ()
    """What else a token must say, e.g. for whom it is. Default: nothing; every token of the issuer lets in."""


class Front(Spec):
    """The load balancer, who reaches it and who may ask the model: from the VPC alone, with an API key, by default.

    What is wrong with it is LF740 to LF753. Without a certificate, plain HTTP must be asked for.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_FRONT

    certificate_arn: Annotated[str | None, Field(alias="certificate")] = None
    """ARN of the certificate in ACM; with it the front speaks HTTPS, and HTTP is sent on to it. Default: none."""
    plain_http: Annotated[bool, Field(alias="http")] = False
    """Whether it may speak HTTP alone, so that keys and prompts cross the network unencrypted. Default: no."""
    domain_name: Annotated[str | None, Field(alias="domain")] = None
    """Name of the certificate that your DNS leads to the load balancer. Default: the load balancer's own name."""
    public: bool = False
    """Whether it has public addresses. Default: no; it is reached from the VPC, and from what is peered with it."""
    allowed_cidrs: Annotated[tuple[str, ...], Field(alias="allowed_from")] = ()
    """Who may reach it, as CIDR blocks; a public one has at least one. Default: the VPC alone."""
    authentication: Annotated[Authentication, Field(alias="auth")] = Authentication.API_KEY
    """Who may ask the model. Default: `api-key`, who has the key in Secrets Manager."""
    jwt: Jwt | None = None
    """With `auth: jwt`: whose tokens are taken."""
    api_key_secret_arn: Annotated[SecretArn | None, Field(alias="api_key_secret")] = None
    """With `auth: api-key`: ARN of a secret whose text is the key. Default: one is made."""
    longest_answer_seconds: Annotated[Seconds, Field(alias="longest_answer")] = (
        front_facts().default_longest_answer_seconds
    )
    """How long one answer may take: idle timeout, draining and stop timeout follow from it. Default: `10 min`, as
    long as the OpenAI client waits."""
    requests_per_five_minutes: int = front_facts().default_requests_per_five_minutes
    """Requests that one client address may send in five minutes before the web ACL refuses it. Default: 3000."""


OF_SERVICE: Mapping[str, str] = {
    "instance_type": "write `instance`",
    "type": "write `instance`",
    "replicas": "write `count`",
    "desired": "write `count`",
    "desired_count": "write `count`",
    "tasks": "write `count`",
    "instances": "write `count`: a task has an instance to itself",
    "min_count": "write `min`",
    "minimum": "write `min`",
    "max_count": "write `max`",
    "maximum": "write `max`",
    "image": "write it below `server`: `server: {kind: tgi, image: …}`",
    "kind": "write `server`",
    "framework": "write `server`",
    "model_id": "write `model`",
    "model_uri": "write `model`",
    "tensor_parallel": "write it below `server`: `server: {kind: tgi, tensor_parallel: 2}`",
    "batch_size": "write it below `server`: `server: {kind: tgi, batch_size: 4}`",
    "sequence_length": "write it below `server`: `server: {kind: tgi, sequence_length: 4096}`",
    "certificate": "write it below `front`: `front: {certificate: arn:aws:acm:…}`",
    "public": "write it below `front`: `front: {public: true, allowed_from: [203.0.113.0/24]}`",
    "auth": "write it below `front`: `front: {auth: api-key}`",
    "load_balancer": "write `front`",
    "alb": "write `front`",
    "capacity": "write it below `hosts`: `hosts: {capacity: managed-instances}`",
    "autoscaling": "write `max`, and `scaling` for what it goes by",
    "port": "leave it out: the front listens at 443, or at 80 with `front: {http: true}`",
    "queue": "write it below `scaling`: `scaling: {queue: 4}`",
    "name": "write the name as the service's key, in front of its colon",
}
"""Below a service."""

OF_HOSTS: Mapping[str, str] = {
    "type": "write `instance` of the service, beside `hosts`",
    "instance_type": "write `instance` of the service, beside `hosts`",
    "count": "write `count` of the service: a task has an instance to itself",
    "managed": "write `capacity: managed-instances`",
    "kind": "write `capacity`",
    "asg": "write `capacity: ec2`",
    "fargate": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
    "FARGATE": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
    "root_volume": "write `volume`",
    "disk": "write `volume`",
    "image": "write `ami`; the server's container image is `image` of `server`",
    "driver_version": "write `driver`",
}
"""Below `hosts`."""

OF_EXPORT: Mapping[str, str] = {
    "model": "write `source`, the checkpoint; it is written where `model` of the service says",
    "from": "write `source`",
    "hub": "write `source: <owner>/<name>`",
    "s3": "write `source: s3://…`",
    "instance_type": "write `instance`",
    "server": "leave it out: it is the server of the service, whose image and sizes are compiled for",
}
"""Below `export`."""


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

    other_words: ClassVar[Mapping[str, str]] = OF_HOSTS

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

    other_words: ClassVar[Mapping[str, str]] = OF_SERVICE

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
        reported = self.scaling.queue_target
        return scaling_facts().queue_target if reported is None else reported

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

    other_words: ClassVar[Mapping[str, str]] = OF_EXPORT

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
