"""What an account may say, and what a user is then told: rules as tables, one list for each file of rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from llm_fleet.catalog.aws_api import named_quota
from llm_fleet.catalog.hyperpod import image_feature
from llm_fleet.rules.account.existing_resources import (
    ExistingFileSystem,
    ExistingImage,
    ToldFileSystem,
    check_bucket,
    check_certificate,
    check_file_system,
    check_hub_model,
    check_image,
    check_image_age,
    check_image_release,
    check_model_in_bucket,
    check_new_bucket,
    check_token_secret,
)
from llm_fleet.rules.account.instance_capacity import (
    CapacityNeed,
    QuotaGranted,
    QuotaNeed,
    Reservation,
    TrainingPlan,
    check_offering,
    check_quota,
    check_reservation,
    check_training_plan,
    check_zones_of_account,
)
from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import Problem

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
REGION = "us-west-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a rule found, and what it should have."""

    name: str
    found: Sequence[Problem]
    code: CheckCode | None = None
    """`None`: nothing is wrong."""
    words: tuple[str, ...] = ()
    """What the user reads, in message or remedy."""


def quota(amount: float, value: float, *, adds_up: bool = True, **granted: Any) -> list[Problem]:
    need = QuotaNeed(quota=named_quota("clusters-size"), amount=amount, owners=("cluster train",), adds_up=adds_up)
    return check_quota(need, QuotaGranted(code="L-3308CCC7", value=value, **granted), region=REGION)


_ASK = "request-service-quota-increase --service-code sagemaker --quota-code L-3308CCC7 --desired-value"
QUOTAS = [
    Case(name="just enough", found=quota(5, 5)),
    Case(name="enough beside what is used", found=quota(5, 9, in_use=4)),
    Case(name="one too few", found=quota(5, 4), code=CheckCode.QUOTA, words=(f"{_ASK} 5 --region us-west-2",)),
    Case(
        name="used by others",
        found=quota(5, 8, in_use=4),
        code=CheckCode.QUOTA,
        words=("takes 5 beside 4 in use", f"{_ASK} 9 "),
    ),
    Case(name="of one cluster, what others use is nothing to it", found=quota(5, 8, adds_up=False, in_use=4)),
    Case(
        name="asked for already",
        found=quota(5, 0, asked_for=8),
        code=CheckCode.QUOTA,
        words=("8 have been asked for already: wait",),
    ),
    Case(name="too little was asked for", found=quota(5, 0, asked_for=4), code=CheckCode.QUOTA, words=(_ASK,)),
    Case(name="never raised", found=quota(5, 0, adjustable=False), code=CheckCode.QUOTA, words=("AWS does not raise",)),
    Case(
        name="a fraction is asked for whole", found=quota(4.5, 4), code=CheckCode.QUOTA, words=(f"{_ASK} 5 --region",)
    ),
    Case(
        name="unknown there",
        found=check_quota(
            QuotaNeed(quota=named_quota("clusters-size"), amount=1, owners=("cluster a", "cluster b")),
            None,
            region=REGION,
        ),
        code=CheckCode.QUOTA_UNKNOWN,
        words=("cluster a, cluster b need the quota", "has none of that name in us-west-2"),
    ),
]


def offering(zones: tuple[str, ...], offered: set[str], *, indication: bool = False) -> list[Problem]:
    return check_offering(
        "trn1.32xlarge", zones, offered=offered, owner="train/trn1", indication=indication, region=REGION
    )


OFFERINGS = [
    Case(name="offered", found=offering(("usw2-az4",), {"usw2-az1", "usw2-az4"})),
    Case(
        name="elsewhere",
        found=offering(("usw2-az2",), {"usw2-az4", "usw2-az1"}),
        code=CheckCode.NOT_OFFERED,
        words=("trn1.32xlarge in usw2-az2, where EC2 does not offer it", "put it into one of usw2-az1, usw2-az4"),
    ),
    Case(
        name="nowhere",
        found=offering(("usw2-az2",), set()),
        code=CheckCode.NOT_OFFERED,
        words=("another region than us-west-2",),
    ),
    Case(
        name="SageMaker's own stock",
        found=offering(("usw2-az2",), {"usw2-az4"}, indication=True),
        code=CheckCode.NOT_OFFERED,
        words=("this is an indication, and a training plan tells surely",),
    ),
    Case(name="AZ is there", found=check_zones_of_account(["usw2-az4"], there={"usw2-az4"}, region=REGION)),
    Case(
        name="AZ is not",
        found=check_zones_of_account(["use1-az4"], there={"usw2-az4"}, region=REGION),
        code=CheckCode.ZONE_OF_ACCOUNT,
        words=("this account has no AZ use1-az4 in us-west-2", "write one of usw2-az4"),
    ),
]

PLAN: dict[str, Any] = {
    "name": "p",
    "status": "Active",
    "start": NOW - timedelta(days=3),
    "end": NOW + timedelta(days=10),
    "zones": ("usw2-az4",),
    "instance_types": ("ml.trn1.32xlarge",),
    "available": 4,
    "total": 6,
    "targets": ("hyperpod-cluster",),
}


def plan(**changed: Any) -> list[Problem]:
    count = changed.pop("count", 4)
    zone = changed.pop("zone", "usw2-az4")
    need = CapacityNeed(owner="train/trn1", instance_types=("ml.trn1.32xlarge",), count=count, zone=zone)
    return check_training_plan(TrainingPlan(**{**PLAN, **changed}), need, now=NOW, target="hyperpod-cluster")


PLANS = [
    Case(name="good", found=plan()),
    Case(name="nobody told the AZ", found=plan(zone=None)),
    Case(name="scheduled for now", found=plan(status="Scheduled")),
    Case(
        name="expired",
        found=plan(status="Expired"),
        code=CheckCode.PLAN_STATUS,
        words=("training plan p of train/trn1 is Expired", "search-training-plan-offerings"),
    ),
    Case(name="not paid yet", found=plan(status="Pending"), code=CheckCode.PLAN_STATUS, words=("wait until",)),
    Case(
        name="ends tonight",
        found=plan(end=NOW + timedelta(hours=5)),
        code=CheckCode.PLAN_TIME,
        words=("ends at 2026-11-22 08:00 UTC",),
    ),
    Case(name="ended", found=plan(end=NOW - timedelta(hours=5)), code=CheckCode.PLAN_TIME, words=("ended at",)),
    Case(
        name="begins later",
        found=plan(status="Scheduled", start=NOW + timedelta(days=2)),
        code=CheckCode.PLAN_TIME,
        words=("begins at 2026-11-24 03:00 UTC only", "min_count: 0"),
    ),
    Case(
        name="another AZ",
        found=plan(zone="usw2-az2"),
        code=CheckCode.PLAN_ZONE,
        words=("has its instances in usw2-az4, and train/trn1 stands in usw2-az2", "put it into usw2-az4 with `az`"),
    ),
    Case(
        name="no spare",
        found=plan(count=5),
        code=CheckCode.PLAN_COUNT,
        words=("takes 5 more instances of the training plan p, which has 4 free of 6", "count: 4"),
    ),
    Case(
        name="other instances",
        found=plan(instance_types=("ml.p5.48xlarge",)),
        code=CheckCode.PLAN_TYPE,
        words=("is of ml.p5.48xlarge, and train/trn1 asks for ml.trn1.32xlarge", "type: ml.p5.48xlarge"),
    ),
    Case(
        name="for training jobs",
        found=plan(targets=("training-job",)),
        code=CheckCode.PLAN_TYPE,
        words=("was bought for training-job", "cannot be changed"),
    ),
]

RESERVATION: dict[str, Any] = {
    "reservation_id": "cr-1",
    "state": "active",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az4",
    "available": 2,
    "total": 4,
    "start": NOW - timedelta(days=1),
    "end": None,
}


def reservation(**changed: Any) -> list[Problem]:
    count = changed.pop("count", 2)
    zone = changed.pop("of_zone", "usw2-az4")
    need = CapacityNeed(owner="train/gpu", instance_types=("p5.48xlarge",), count=count, zone=zone)
    return check_reservation(Reservation(**{**RESERVATION, **changed}), need, now=NOW)


RESERVATIONS = [
    Case(name="good", found=reservation()),
    Case(
        name="cancelled",
        found=reservation(state="cancelled"),
        code=CheckCode.RESERVATION_STATE,
        words=("the capacity reservation cr-1 of train/gpu is cancelled", "name another under `reservation`"),
    ),
    Case(
        name="a block that comes",
        found=reservation(state="scheduled", is_block=True, start=NOW + timedelta(days=1)),
        code=CheckCode.RESERVATION_STATE,
        words=("the Capacity Block cr-1", "begins at 2026-11-23 03:00 UTC", "deploy once it is active"),
    ),
    Case(
        name="a block that ends",
        found=reservation(is_block=True, end=NOW + timedelta(hours=3)),
        code=CheckCode.RESERVATION_TIME,
        words=("half an hour before", "describe-capacity-block-offerings"),
    ),
    Case(
        name="another AZ",
        found=reservation(of_zone="usw2-az1"),
        code=CheckCode.RESERVATION_ZONE,
        words=("cr-1 is in usw2-az4, and train/gpu stands in usw2-az1",),
    ),
    Case(
        name="too few",
        found=reservation(count=3),
        code=CheckCode.RESERVATION_COUNT,
        words=("takes up to 3 more instances", "2 free of 4", "max: 2"),
    ),
    Case(
        name="other instances",
        found=reservation(instance_type="p4d.24xlarge"),
        code=CheckCode.RESERVATION_TYPE,
        words=("type: p4d.24xlarge",),
    ),
]


def bucket(**changed: Any) -> list[Problem]:
    given: dict[str, Any] = {
        "exists": True,
        "bucket_region": REGION,
        "region": REGION,
        "used_for": "FSx mirrors",
        "same_region": True,
    }
    return check_bucket("my-data", **{**given, **changed})


BUCKETS = [
    Case(name="good", found=bucket()),
    Case(name="nobody told where", found=bucket(bucket_region=None)),
    Case(
        name="missing",
        found=bucket(exists=False),
        code=CheckCode.BUCKET_MISSING,
        words=("there is no bucket my-data, which FSx mirrors", "LocationConstraint=us-west-2"),
    ),
    Case(
        name="missing, where S3 wants no constraint",
        found=bucket(exists=False, region="us-east-1"),
        code=CheckCode.BUCKET_MISSING,
        words=("--region us-east-1`",),
    ),
    Case(
        name="another region",
        found=bucket(bucket_region="eu-west-1"),
        code=CheckCode.BUCKET_REGION,
        words=("the bucket my-data is in eu-west-1, and what FSx mirrors must be in us-west-2",),
    ),
    Case(name="another region, which works", found=bucket(bucket_region="eu-west-1", same_region=False)),
    Case(name="free", found=check_new_bucket("new", exists=False)),
    Case(
        name="taken", found=check_new_bucket("new", exists=True), code=CheckCode.BUCKET_TAKEN, words=("exists already",)
    ),
]


def file_system(told: dict[str, Any] | None = None, **real: Any) -> list[Problem]:
    is_so: dict[str, Any] = {
        "file_system_id": "fs-1",
        "kind": "LUSTRE",
        "lifecycle": "AVAILABLE",
        "vpc_id": "vpc-1",
        "zones": ("usw2-az4",),
        "dns_name": "fs-1.fsx.us-west-2.amazonaws.com",
        "mount_name": "abcd1234",
        "efa": True,
    }
    says: dict[str, Any] = {"kind": "LUSTRE", "path": ("storage", "fsx", "existing"), **(told or {})}
    return check_file_system(ExistingFileSystem(**{**is_so, **real}), ToldFileSystem(**says))


FILE_SYSTEMS = [
    Case(name="good", found=file_system({"zone": "usw2-az4", "vpc_id": "vpc-1", "mount_name": "abcd1234"})),
    Case(name="being updated", found=file_system(lifecycle="UPDATING")),
    Case(
        name="failed",
        found=file_system(lifecycle="FAILED"),
        code=CheckCode.FILE_SYSTEM_STATE,
        words=("fs-1 is FAILED, and cannot be mounted",),
    ),
    Case(
        name="another AZ",
        found=file_system({"zone": "usw2-az2"}),
        code=CheckCode.FILE_SYSTEM_ZONE,
        words=("stands in usw2-az4, and the fleet file says usw2-az2", "az: usw2-az4"),
    ),
    Case(name="another VPC", found=file_system({"vpc_id": "vpc-2"}), code=CheckCode.FILE_SYSTEM_ZONE, words=("vpc-2",)),
    Case(
        name="another mount name",
        found=file_system({"mount_name": "fsx"}),
        code=CheckCode.FILE_SYSTEM_OTHER,
        words=("mount_name abcd1234, and the fleet file says fsx", "write `mount_name: abcd1234`"),
    ),
    Case(
        name="EFA unnoticed",
        found=file_system({"efa": False}),
        code=CheckCode.FILE_SYSTEM_OTHER,
        words=("write `efa: true`",),
    ),
    Case(
        name="another kind",
        found=file_system({"kind": "OPENZFS"}),
        code=CheckCode.FILE_SYSTEM_OTHER,
        words=("name a file system that is OPENZFS",),
    ),
]


def image(real: dict[str, Any] | None, *, for_hyperpod: bool = True) -> list[Problem]:
    given: dict[str, Any] = {
        "image_id": "ami-1",
        "state": "available",
        "architecture": "x86_64",
        "created": date(2026, 9, 1),
        "owner": "111122223333",
        "encrypted": False,
        "volumes": 1,
    }
    return check_image(
        None if real is None else ExistingImage(**{**given, **real}),
        "ami-1",
        owner="train/trn1",
        architectures={"x86_64"},
        account="111122223333",
        for_hyperpod=for_hyperpod,
        region=REGION,
    )


def age(created: date | None, *features: str) -> list[Problem]:
    asked = [image_feature(name) for name in features]
    return check_image_age(created, asked, image="the image ami-1", owner="train/trn1", remedy="build it anew")


IMAGES = [
    Case(name="good", found=image({})),
    Case(name="gone", found=image(None), code=CheckCode.IMAGE_STATE, words=("there is no image ami-1 in us-west-2",)),
    Case(name="pending", found=image({"state": "pending"}), code=CheckCode.IMAGE_STATE, words=("is pending",)),
    Case(
        name="for Graviton",
        found=image({"architecture": "arm64"}),
        code=CheckCode.IMAGE_STATE,
        words=("is for arm64, and its nodes are x86_64",),
    ),
    Case(
        name="another account's",
        found=image({"owner": "444455556666"}),
        code=CheckCode.IMAGE_STATE,
        words=("HyperPod takes images of the cluster's account only",),
    ),
    Case(name="another account's, for EC2", found=image({"owner": "444455556666"}, for_hyperpod=False)),
    Case(name="encrypted", found=image({"encrypted": True}), code=CheckCode.IMAGE_STATE, words=("encrypted volume",)),
    Case(name="two volumes", found=image({"volumes": 2}), code=CheckCode.IMAGE_STATE, words=("has 2 volumes",)),
    Case(name="new enough", found=age(date(2026, 8, 31), "slurm-config", "accounting-database")),
    Case(name="of no known age", found=age(None, "slurm-config")),
    Case(
        name="too old for SlurmConfig",
        found=age(date(2026, 1, 24), "slurm-config"),
        code=CheckCode.IMAGE_AGE,
        words=("is of 2026-01-24", "(SlurmConfig) needs one of 2026-01-25 or later"),
    ),
    Case(
        name="too old for accounting",
        found=age(date(2026, 8, 30), "accounting-database"),
        code=CheckCode.IMAGE_AGE,
        words=("an accounting database outside of the cluster needs one of 2026-08-31 or later",),
    ),
    Case(
        name="release not published",
        found=check_image_release(
            "20991231",
            there=False,
            parameter="/aws/service/ecs/x/neuron/al2023-ami-y/image_id",
            owner="service chat",
            region=REGION,
        ),
        code=CheckCode.IMAGE_PARAMETER,
        words=("publishes none of that name", "--path /aws/service/ecs/x/neuron --region us-west-2"),
    ),
]


def in_bucket(files: int, *, has_config: bool = False, exported: bool = False) -> list[Problem]:
    return check_model_in_bucket(
        "s3://m/chat", files=files, has_config=has_config, owner="service chat", exported=exported
    )


def certificate(status: str | None, *, days: int = 100, domain: str | None = None) -> list[Problem]:
    return check_certificate(
        "arn:aws:acm:us-west-2:111122223333:certificate/1",
        status=status,
        ends=NOW + timedelta(days=days),
        names=("chat.example.com", "*.models.example.com"),
        domain=domain,
        owner="service chat",
        now=NOW,
    )


def hub(status: int, *, with_token: bool = False) -> list[Problem]:
    return check_hub_model("meta-llama/Llama", status=status, with_token=with_token, owner="service chat")


_SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
MODELS = [
    Case(name="there", found=in_bucket(9, has_config=True)),
    Case(name="yet to be exported", found=in_bucket(0, exported=True)),
    Case(name="empty", found=in_bucket(0), code=CheckCode.MODEL_MISSING, words=("there is nothing in that folder",)),
    Case(name="no model", found=in_bucket(3), code=CheckCode.MODEL_MISSING, words=("there is no config.json in",)),
    Case(
        name="token's secret is gone",
        found=check_token_secret(_SECRET, there=False, deleted=False, owner="service chat", region=REGION),
        code=CheckCode.TOKEN_SECRET,
        words=("does not exist", "create-secret"),
    ),
    Case(
        name="token's secret is being deleted",
        found=check_token_secret(_SECRET, there=True, deleted=True, owner="service chat", region=REGION),
        code=CheckCode.TOKEN_SECRET,
        words=("is being deleted", "restore-secret"),
    ),
    Case(name="handed out", found=hub(200)),
    Case(name="redirected to where it lies", found=hub(307)),
    Case(name="the Hub has trouble", found=hub(503)),
    Case(name="gated", found=hub(401), code=CheckCode.GATED, words=("asks for a token", "token_secret")),
    Case(name="not accepted", found=hub(403, with_token=True), code=CheckCode.GATED, words=("accept its licence",)),
    Case(name="misspelt", found=hub(404, with_token=True), code=CheckCode.GATED, words=("of that name and revision",)),
    Case(name="issued", found=certificate("ISSUED", domain="a.models.example.com")),
    Case(name="no certificate", found=certificate(None), code=CheckCode.CERTIFICATE, words=("does not exist",)),
    Case(
        name="not validated",
        found=certificate("PENDING_VALIDATION"),
        code=CheckCode.CERTIFICATE,
        words=("is PENDING_VALIDATION", "DNS records"),
    ),
    Case(
        name="ends soon", found=certificate("ISSUED", days=3), code=CheckCode.CERTIFICATE, words=("ends at 2026-11-25",)
    ),
    Case(
        name="for another name",
        found=certificate("ISSUED", domain="a.b.models.example.com"),
        code=CheckCode.CERTIFICATE,
        words=("clients ask for a.b.models.example.com",),
    ),
]
