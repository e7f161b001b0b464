"""An inference service on ECS: load balancer, instances, model server, model and scaling."""

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
    "api_key": "write `auth: api-key`, and `api_key_secret` for an existing secret",
    "authentication": "write `auth`",
    "idle_timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "oidc": "write `auth: jwt`: OIDC of a load balancer redirects to a sign-in page, which API clients cannot use",
    "cognito": "write `auth: jwt`, with the user pool as its issuer",
}
"""Remedies for keys below `front`."""

OF_JWT: Mapping[str, str] = {
    "jwks_uri": "write `jwks`",
    "jwks_url": "write `jwks`",
    "audience": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "aud": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "scope": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
    "scopes": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
}
"""Remedies for keys below `jwt`."""


class Authentication(StrEnum):
    """How clients authenticate."""

    API_KEY = "api-key"
    """With the API key in Secrets Manager, which the model server checks."""
    JWT = "jwt"
    """With a token of the configured issuer, which the load balancer checks. HTTPS only."""
    NONE = "none"
    """No authentication: everyone who can connect to the load balancer can use the model."""


class ClaimFormat(StrEnum):
    """Format of a claim in a token; values of Elastic Load Balancing."""

    SINGLE_STRING = "single-string"
    """A string, usual for `client_id`."""
    STRING_ARRAY = "string-array"
    """A list of strings, usual for `aud`."""
    SPACE_SEPARATED = "space-separated-values"
    """Words in one string, as in `scope`."""


class JwtClaim(Spec):
    """A claim that a token must contain."""

    name: Annotated[str, Field(examples=["aud"])]
    """Name of the claim, e.g. `aud` or `scope`. Not `exp`, `iss`, `nbf` or `iat`, which are always checked."""
    values: Annotated[tuple[str, ...], Field(examples=[["chat"], "[chat]"])]
    """Accepted values: one to ten strings of at most 256 characters."""
    format: ClaimFormat = ClaimFormat.SINGLE_STRING
    """Format of the claim in the token. Default: `single-string`."""


class Jwt(Spec):
    """Issuer of the tokens that clients use, and the claims that are required.

    The load balancer checks signature, issuer and expiry, and `nbf` and `iat` if a token has them. It supports only
    RS256, and key sets of at most 10 keys and 150 KB
    (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html).
    """

    other_words: ClassVar[Mapping[str, str]] = OF_JWT

    issuer: Annotated[str, Field(examples=["https://idp.example.com/"])]
    """Issuer (`iss` claim), an https URL of at most 256 characters."""
    jwks_endpoint: Annotated[str, Field(alias="jwks", examples=["https://idp.example.com/.well-known/jwks.json"])]
    """URL of its public keys (JWKS), https, which the load balancer must reach over the internet."""
    claims: tuple[JwtClaim, ...] = ()
    """Claims that a token must contain, e.g. its audience. Default: none; every token of the issuer is accepted."""


class Front(Spec):
    """The load balancer, its network access and authentication. Default: only from the VPC, with an API key.

    Errors: LF740 to LF753. Without a certificate, plain HTTP must be enabled explicitly.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_FRONT

    certificate_arn: Annotated[str | None, Field(alias="certificate")] = None
    """ARN of the certificate in ACM. With it the load balancer uses HTTPS and redirects HTTP. Default: none."""
    plain_http: Annotated[bool, Field(alias="http")] = False
    """Whether it may use only HTTP, so that keys and prompts cross the network unencrypted. Default: no."""
    domain_name: Annotated[str | None, Field(alias="domain")] = None
    """DNS name that is in the certificate and that resolves to the load balancer. Default: the load balancer's own
    name."""
    public: bool = False
    """Whether it has public addresses. Default: no; it can be reached from the VPC and from peered networks."""
    allowed_cidrs: Annotated[tuple[str, ...], Field(alias="allowed_from")] = ()
    """CIDR blocks that may connect; required for a public load balancer. Default: only the VPC."""
    authentication: Annotated[Authentication, Field(alias="auth")] = Authentication.API_KEY
    """How clients authenticate. Default: `api-key`, with a key in Secrets Manager."""
    jwt: Jwt | None = None
    """With `auth: jwt`: issuer of the accepted tokens."""
    api_key_secret_arn: Annotated[SecretArn | None, Field(alias="api_key_secret")] = None
    """With `auth: api-key`: ARN of the secret whose value is the key. Default: a secret is created."""
    longest_answer_seconds: Annotated[Seconds, Field(alias="longest_answer")] = (
        front_facts().default_longest_answer_seconds
    )
    """Maximum duration of one answer; idle timeout, deregistration delay and stop timeout are derived from it. Default:
    `10 min`, the timeout of the OpenAI client."""
    requests_per_five_minutes: int = front_facts().default_requests_per_five_minutes
    """Requests of one client address in five minutes, above which the web ACL blocks it. Default: 3000."""


OF_SERVICE: Mapping[str, str] = {
    "instance_type": "write `instance`",
    "type": "write `instance`",
    "replicas": "write `count`",
    "desired": "write `count`",
    "desired_count": "write `count`",
    "tasks": "write `count`",
    "instances": "write `count`: each task has its own instance",
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
    "autoscaling": "write `max`, and `scaling` for its target",
    "port": "remove it: the load balancer listens on port 443, or on 80 with `front: {http: true}`",
    "queue": "write it below `scaling`: `scaling: {queue: 4}`",
    "name": "write the name as the service's key, in front of its colon",
}
"""Remedies for keys below a service."""

OF_HOSTS: Mapping[str, str] = {
    "type": "write `instance` of the service, next to `hosts`",
    "instance_type": "write `instance` of the service, next to `hosts`",
    "count": "write `count` of the service: each task has its own instance",
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
"""Remedies for keys below `hosts`."""

OF_EXPORT: Mapping[str, str] = {
    "model": "write `source` for the checkpoint; the compiled model is written to `model` of the service",
    "from": "write `source`",
    "hub": "write `source: <owner>/<name>`",
    "s3": "write `source: s3://…`",
    "instance_type": "write `instance`",
    "server": "remove it: the model is compiled for the server of the service, with its image and sizes",
}
"""Remedies for keys below `export`."""


class Capacity(StrEnum):
    """Who manages the instances of the service."""

    EC2 = "ec2"
    """An Auto Scaling group of llm-fleet: the host's driver is pinned, and S3 is mounted on it."""
    MANAGED_INSTANCES = "managed-instances"
    """ECS Managed Instances: AWS chooses AMI and driver, and llm-fleet installs nothing on the host."""


class Hosts(Spec):
    """Instances of a service: who manages them, and their settings. Errors: LF730 to LF738.

    On Managed Instances llm-fleet installs nothing: no model is mounted from S3, and only the first start shows whether
    the driver is compatible with the image's runtime. assumption: managed-instances-driver
    """

    other_words: ClassVar[Mapping[str, str]] = OF_HOSTS

    capacity: Annotated[Capacity, SHORTHAND] = Capacity.EC2
    """Who manages them. Default: `ec2`, an Auto Scaling group with a pinned driver that mounts S3."""
    root_volume_gib: Annotated[Gibibytes | None, Field(alias="volume")] = None
    """Size of the root volume. Default: operating system, twice the server's image, and the model's cache."""
    ami: str | None = None
    """Release of the ECS Neuron AMI, in quotes, e.g. `"20260701"`, or an AMI id. Default: the newest release that is
    believed to contain the pinned driver."""
    driver_version: Annotated[str | None, Field(alias="driver")] = None
    """Version of `aws-neuronx-dkms`, in quotes. Default: the newest that is compatible with the server's image."""
    install_driver: bool | None = None
    """Whether a host whose AMI has another driver installs the pinned driver at boot. Default: yes on `ec2`."""

    @property
    def managed(self) -> bool:
        """Whether AWS manages them."""
        return self.capacity is Capacity.MANAGED_INSTANCES

    @property
    def installs_driver(self) -> bool:
        """Whether a different driver is replaced at boot: `install_driver`, otherwise yes on `ec2`."""
        return not self.managed if self.install_driver is None else self.install_driver


class Scaling(Spec):
    """Scaling targets of a service between `min` and `max`. Errors: LF772 to LF774."""

    queue_target: Annotated[float | None, Field(alias="queue")] = None
    """Target of waiting requests for each task, on average, in addition to the batch in progress. Default: 1."""
    requests_per_minute_target: Annotated[float | None, Field(alias="requests_per_minute")] = None
    """Target of requests per minute for each task, instead of the queue. Default: the queue is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCount:
    """Number of tasks, with all defaults; each task has its own instance."""

    desired: int
    minimum: int
    maximum: int

    @property
    def scales(self) -> bool:
        """Whether the service scales automatically."""
        return self.minimum != self.maximum


class Alarms(Spec):
    """Alarms of a service and their thresholds. An ARN is short for `topic` alone. LF775 is an invalid number."""

    topic_arn: Annotated[TopicArn | None, SHORTHAND, Field(alias="topic")] = None
    """ARN of the SNS topic for alarms. Default: none; alarms are only visible in CloudWatch."""
    time_to_first_token_seconds: Annotated[WaitSeconds | None, Field(alias="time_to_first_token")] = None
    """Average time to the first token over five minutes, in three consecutive periods. Default: `10 s`."""
    waiting_requests: float | None = None
    """Average number of waiting requests for each task, for ten minutes. Default: twice the batch size."""
    server_error_percent: float | None = None
    """Percentage of 5xx answers, in two of three five-minute periods. Default: 5."""


class SidecarImages(Spec):
    """Images of the containers next to a server, for networks without public registries: copies in your own ECR."""

    collector: str | None = None
    """The AWS Distro for OpenTelemetry Collector, which sends the server's metrics to CloudWatch."""
    problem_detector: str | None = None
    """The Kubernetes node problem detector with the rules of Neuron."""
    recovery: str | None = None
    """Neuron's recovery container, used with `replace_sick_hosts`."""

    def image(self, name: str) -> str:
        """Return the image of the sidecar `name`, a field: as set, otherwise the vendor's in a public registry."""
        images = {
            "collector": self.collector or collector_facts().image,
            "problem_detector": self.problem_detector or neuron_health_facts().detector_image,
            "recovery": self.recovery or neuron_health_facts().recovery_image,
        }
        return images[name]

    def pulled(self, *, watched: bool, replaced: bool) -> Iterator[tuple[str, str]]:
        """Return the images that hosts pull, by key: with devices `watched`, and with faulty hosts `replaced`."""
        yield "collector", self.image("collector")
        if watched:
            yield "problem_detector", self.image("problem_detector")
        if replaced:
            yield "recovery", self.image("recovery")


class ServiceSpec(Spec):
    """A model behind an OpenAI-compatible API. Its key is the service's name and the model name that clients send.

    `InferenceService` reports all errors in it together (LF700 to LF789).
    """

    other_words: ClassVar[Mapping[str, str]] = OF_SERVICE

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Name of the service, its ECS cluster and its log group. Default: derived from the construct's path."""
    model: Annotated[Model, Field(examples=[{"s3": "s3://my-models/tanuki-8b"}, "s3://my-models/tanuki-8b"])]
    """The model that is served: `s3://…`, an id on the Hub, or a mapping."""
    instance_type: Annotated[NeuronInstanceName, Field(alias="instance", examples=["inf2.xlarge"])]
    """EC2 instance type with Neuron devices. Each task has its own instance."""
    server: AnyServer = TgiServer()
    """Model server: `tgi`, `hugging-face-vllm`, `aws-vllm` or `aws-vllm-neuron`, or a mapping. Default: `tgi`."""
    desired: Annotated[int | None, Field(alias="count")] = None
    """Number of tasks. Default: 2, so that one serves while an update replaces the other, but at least `min` and at
    most `max`. A service that scales starts with `min`."""
    minimum: Annotated[int | None, Field(alias="min")] = None
    """Minimum number of tasks. Default: `count`."""
    maximum: Annotated[int | None, Field(alias="max")] = None
    """Maximum number of tasks; above `min`, the service scales with its load. Default: `count`, no scaling."""
    scaling: Scaling = Scaling()
    """Scaling targets."""
    hosts: Hosts = Hosts()
    """Instances: who manages them, and their settings."""
    front: Front = Front()
    """The load balancer, its network access and authentication."""
    alarms: Alarms = Alarms()
    """Alarm thresholds and notifications: the ARN of an SNS topic, or a mapping. Default: alarms without
    notifications."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 30
    """Retention of the logs. Default: `30 days`."""
    health_check_grace_seconds: Annotated[Seconds | None, Field(alias="load_time")] = None
    """Time for a task to load the model, in which failed health checks are ignored. Default: by the server and the
    model."""
    execute_command: Annotated[bool, InRequest("enable_execute_command")] = False
    """Whether `aws ecs execute-command` can open a shell in a task. Default: no; a user with a shell can read the model
    and the API key."""
    neuron_health: bool = True
    """Whether a daemon monitors the Neuron devices of hosts. Default: yes on `ec2`."""
    replace_sick_hosts: bool = False
    """Whether a host with a faulty device is terminated and replaced, without draining. Default: no; only an alarm is
    raised."""
    sidecar_images: SidecarImages = SidecarImages()
    """Images of the containers next to the server. Default: the vendors' images in public registries."""

    @property
    def tasks(self) -> TaskCount:
        """Number of tasks, with all defaults."""
        desired = self._default_desired() if self.desired is None else self.desired
        return TaskCount(
            desired=desired,
            minimum=desired if self.minimum is None else self.minimum,
            maximum=desired if self.maximum is None else self.maximum,
        )

    @property
    def queue_target(self) -> float:
        """Target of waiting requests for each task, with its default."""
        target = self.scaling.queue_target
        return scaling_facts().queue_target if target is None else target

    @property
    def watches_devices(self) -> bool:
        """Whether a daemon monitors the devices: only `ec2` hosts can run one with access to them."""
        return self.neuron_health and not self.hosts.managed

    @property
    def replaces_sick_hosts(self) -> bool:
        """Whether a host with a faulty device is replaced."""
        return self.replace_sick_hosts and self.watches_devices

    def pulled(self) -> Iterator[tuple[str, str]]:
        """Return the images that hosts pull in addition to the server's, by the fields of `SidecarImages`."""
        return self.sidecar_images.pulled(watched=self.watches_devices, replaced=self.replaces_sick_hosts)

    def _default_desired(self) -> int:
        """Return the default number of tasks: the catalog's, limited by `min` and `max`."""
        least, most = self.minimum, self.maximum
        if least is not None and is_unresolved(least):
            return least
        desired = max(1, scaling_facts().desired, least or 1)
        return desired if most is None or is_unresolved(most) else max(1, min(desired, most))


class ExportSpec(Spec):
    """An ECS task, run by hand, that compiles a checkpoint with the serving image and writes the result to `model`."""

    other_words: ClassVar[Mapping[str, str]] = OF_EXPORT

    source: Annotated[
        Model,
        Field(examples=[{"hub": "meta-llama/Llama-3.1-8B-Instruct"}, "meta-llama/Llama-3.1-8B-Instruct"]),
    ]
    """The checkpoint: an id on the Hub, `s3://…`, or a mapping."""
    instance_type: Annotated[NeuronInstanceName | None, Field(alias="instance")] = None
    """EC2 instance type for the compilation. Default: the smallest type of the service's family that can compile it; no
    instance runs between compilations."""
    hosts: Annotated[Hosts, Field(alias=PYTHON_ONLY)] = Hosts()
    """Settings of that host, which is always `ec2`. Default: as those of a service."""
    fargate: bool = False
    """Whether it is compiled on Fargate, without Neuron devices. Default: no; only `hugging-face-vllm` supports it."""
    tools_image: str | None = None
    """Image with the AWS CLI, which downloads and uploads, for networks without access to public.ecr.aws."""
