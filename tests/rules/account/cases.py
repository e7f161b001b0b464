"""Responses of an account, and the expected reports: tables of cases, one list for each file of rules."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from llm_fleet.catalog.aws_api import named_quota
from llm_fleet.catalog.hyperpod import image_feature
from llm_fleet.rules.account.existing_resources import (
    ExistingFileSystem,
    ExistingImage,
    ReportedFileSystem,
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
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import Problem

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
REGION = "us-west-2"


class Case:
    """The findings of a rule, and the expected finding."""

    def __init__(self, name: str, found: Sequence[Problem], code: CheckCode | None = None, *words: str) -> None:
        """Without `code`, no finding is expected; `words` are expected in the message or the remedy."""
        self.name, self.found, self.code, self.words = name, found, code, words


def quota(amount: float, value: float, *, adds_up: bool = True, **granted: Any) -> list[Problem]:
    need = QuotaNeed(quota=named_quota("clusters-size"), amount=amount, owners=("cluster train",), adds_up=adds_up)
    return check_quota(need, QuotaGranted(code="L-3308CCC7", value=value, **granted), region=REGION)


_ASK = "request-service-quota-increase --service-code sagemaker --quota-code L-3308CCC7 --desired-value"
QUOTAS = [
    Case("just enough", quota(5, 5)),
    Case("enough for the current use, too", quota(5, 9, in_use=4)),
    Case("one too few", quota(5, 4), CheckCode.QUOTA, f"{_ASK} 5 --region us-west-2"),
    Case(
        "used by others",
        quota(5, 8, in_use=4),
        CheckCode.QUOTA,
        "requires 5 instances, and 4 instances are already in use; the quota `",
        f"{_ASK} 9 ",
    ),
    Case("a quota for one cluster: the use by others does not count", quota(5, 8, adds_up=False, in_use=4)),
    Case(
        "already requested", quota(5, 0, requested_for=8), CheckCode.QUOTA, "to 8 instances is already requested: wait"
    ),
    Case("too little was requested", quota(5, 0, requested_for=4), CheckCode.QUOTA, _ASK),
    Case("never raised", quota(5, 0, adjustable=False), CheckCode.QUOTA, "AWS does not increase this quota"),
    Case("a fraction is rounded up", quota(4.5, 4), CheckCode.QUOTA, f"{_ASK} 5 --region"),
    Case(
        "unknown there",
        check_quota(
            QuotaNeed(quota=named_quota("clusters-size"), amount=1, owners=("cluster a", "cluster b")),
            None,
            region=REGION,
        ),
        CheckCode.QUOTA_UNKNOWN,
        "cluster a, cluster b require the quota `",
        "does not have in us-west-2",
    ),
]


def offering(zones: tuple[str, ...], offered: set[str], *, indication: bool = False) -> list[Problem]:
    return check_offering(
        "trn1.32xlarge", zones, offered=offered, owner="train/trn1", indication=indication, region=REGION
    )


OFFERINGS = [
    Case("offered", offering(("usw2-az4",), {"usw2-az1", "usw2-az4"})),
    Case(
        "elsewhere",
        offering(("usw2-az2",), {"usw2-az4", "usw2-az1"}),
        CheckCode.NOT_OFFERED,
        "trn1.32xlarge in usw2-az2, where EC2 does not offer it",
        "write one of these AZs: usw2-az1, usw2-az4",
    ),
    Case("nowhere", offering(("usw2-az2",), set()), CheckCode.NOT_OFFERED, "another region than us-west-2"),
    Case(
        "SageMaker's own stock",
        offering(("usw2-az2",), {"usw2-az4"}, indication=True),
        CheckCode.NOT_OFFERED,
        "this is only an indication; a training plan guarantees capacity",
    ),
    Case("AZ is there", check_zones_of_account(["usw2-az4"], there={"usw2-az4"}, region=REGION)),
    Case(
        "AZ is not",
        check_zones_of_account(["use1-az4"], there={"usw2-az4"}, region=REGION),
        CheckCode.ZONE_OF_ACCOUNT,
        "this account has no AZ use1-az4 in us-west-2",
        "write one of usw2-az4",
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
    Case("good", plan()),
    Case("AZ not given", plan(zone=None)),
    Case("scheduled for now", plan(status="Scheduled")),
    Case(
        "expired",
        plan(status="Expired"),
        CheckCode.PLAN_STATUS,
        "training plan p of train/trn1 is Expired",
        "search-training-plan-offerings",
    ),
    Case("not paid yet", plan(status="Pending"), CheckCode.PLAN_STATUS, "wait until"),
    Case("ends tonight", plan(end=NOW + timedelta(hours=5)), CheckCode.PLAN_TIME, "ends at 2026-11-22 08:00 UTC"),
    Case("ended", plan(end=NOW - timedelta(hours=5)), CheckCode.PLAN_TIME, "ended at"),
    Case(
        "begins later",
        plan(status="Scheduled", start=NOW + timedelta(days=2)),
        CheckCode.PLAN_TIME,
        "begins only at 2026-11-24 03:00 UTC",
        "min_count: 0",
    ),
    Case(
        "another AZ",
        plan(zone="usw2-az2"),
        CheckCode.PLAN_ZONE,
        "has its instances in usw2-az4, but train/trn1 is in usw2-az2",
        "write `az: usw2-az4`;",
    ),
    Case(
        "no spare",
        plan(count=5),
        CheckCode.PLAN_COUNT,
        "requires 5 more instances of the training plan p, which has 4 free of 6",
        "count: 4",
    ),
    Case(
        "other instances",
        plan(instance_types=("ml.p5.48xlarge",)),
        CheckCode.PLAN_TYPE,
        "is for ml.p5.48xlarge, but train/trn1 uses ml.trn1.32xlarge",
        "type: ml.p5.48xlarge",
    ),
    Case(
        "for training jobs",
        plan(targets=("training-job",)),
        CheckCode.PLAN_TYPE,
        "is for training-job",
        "cannot be changed",
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
    Case("good", reservation()),
    Case(
        "cancelled",
        reservation(state="cancelled"),
        CheckCode.RESERVATION_STATE,
        "the capacity reservation cr-1 of train/gpu is cancelled",
        "write another `reservation`",
    ),
    Case(
        "a block that comes",
        reservation(state="scheduled", is_block=True, start=NOW + timedelta(days=1)),
        CheckCode.RESERVATION_STATE,
        "the Capacity Block cr-1",
        "begins at 2026-11-23 03:00 UTC",
        "deploy when it is active",
    ),
    Case(
        "a block that ends",
        reservation(is_block=True, end=NOW + timedelta(hours=3)),
        CheckCode.RESERVATION_TIME,
        "30 minutes before",
        "describe-capacity-block-offerings",
    ),
    Case(
        "another AZ",
        reservation(of_zone="usw2-az1"),
        CheckCode.RESERVATION_ZONE,
        "cr-1 is in usw2-az4, but train/gpu is in usw2-az1",
    ),
    Case(
        "too few",
        reservation(count=3),
        CheckCode.RESERVATION_COUNT,
        "requires up to 3 more instances",
        "2 free of 4",
        "max: 2",
    ),
    Case(
        "other instances", reservation(instance_type="p4d.24xlarge"), CheckCode.RESERVATION_TYPE, "type: p4d.24xlarge"
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
    Case("good", bucket()),
    Case("region unknown", bucket(bucket_region=None)),
    Case(
        "missing",
        bucket(exists=False),
        CheckCode.BUCKET_MISSING,
        "the bucket my-data, which FSx mirrors, does not exist",
        "LocationConstraint=us-west-2",
    ),
    Case(
        "missing, where S3 wants no constraint",
        bucket(exists=False, region="us-east-1"),
        CheckCode.BUCKET_MISSING,
        "--region us-east-1`",
    ),
    Case(
        "another region",
        bucket(bucket_region="eu-west-1"),
        CheckCode.BUCKET_REGION,
        "the bucket my-data, which FSx mirrors, is in eu-west-1, and must be in us-west-2",
    ),
    Case("another region, which works", bucket(bucket_region="eu-west-1", same_region=False)),
    Case("free", check_new_bucket("new", exists=False)),
    Case("taken", check_new_bucket("new", exists=True), CheckCode.BUCKET_TAKEN, "is already in use,"),
]


def file_system(differences: dict[str, Any] | None = None, **real: Any) -> list[Problem]:
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
    says: dict[str, Any] = {"kind": "LUSTRE", "path": ("storage", "fsx", "existing"), **(differences or {})}
    return check_file_system(ExistingFileSystem(**{**is_so, **real}), ReportedFileSystem(**says))


FILE_SYSTEMS = [
    Case("good", file_system({"zone": "usw2-az4", "vpc_id": "vpc-1", "mount_name": "abcd1234"})),
    Case("being updated", file_system(lifecycle="UPDATING")),
    Case(
        "failed", file_system(lifecycle="FAILED"), CheckCode.FILE_SYSTEM_STATE, "fs-1 is FAILED and cannot be mounted"
    ),
    Case(
        "another AZ",
        file_system({"zone": "usw2-az2"}),
        CheckCode.FILE_SYSTEM_ZONE,
        "is in usw2-az4, but the fleet file says usw2-az2",
        "az: usw2-az4",
    ),
    Case("another VPC", file_system({"vpc_id": "vpc-2"}), CheckCode.FILE_SYSTEM_ZONE, "vpc-2"),
    Case(
        "another mount name",
        file_system({"mount_name": "fsx"}),
        CheckCode.FILE_SYSTEM_OTHER,
        "mount_name abcd1234, but the fleet file says fsx",
        "write `mount_name: abcd1234`",
    ),
    Case("EFA unnoticed", file_system({"efa": False}), CheckCode.FILE_SYSTEM_OTHER, "write `efa: true`"),
    Case(
        "another kind",
        file_system({"kind": "OPENZFS"}),
        CheckCode.FILE_SYSTEM_OTHER,
        "write a file system that is OPENZFS",
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
    used = [image_feature(name) for name in features]
    return check_image_age(created, used, image="the image ami-1", owner="train/trn1", remedy="build it again")


IMAGES = [
    Case("good", image({})),
    Case(
        "gone", image(None), CheckCode.IMAGE_STATE, "train/trn1 uses the image ami-1, which does not exist in us-west-2"
    ),
    Case("pending", image({"state": "pending"}), CheckCode.IMAGE_STATE, "is pending"),
    Case(
        "for Graviton",
        image({"architecture": "arm64"}),
        CheckCode.IMAGE_STATE,
        "is for arm64, but its nodes are x86_64",
    ),
    Case(
        "another account's",
        image({"owner": "444455556666"}),
        CheckCode.IMAGE_STATE,
        "HyperPod supports only images of the cluster's account",
    ),
    Case("another account's, for EC2", image({"owner": "444455556666"}, for_hyperpod=False)),
    Case("encrypted", image({"encrypted": True}), CheckCode.IMAGE_STATE, "encrypted volume"),
    Case("two volumes", image({"volumes": 2}), CheckCode.IMAGE_STATE, "has 2 volumes"),
    Case("new enough", age(date(2026, 8, 31), "slurm-config", "accounting-database")),
    Case("of no known age", age(None, "slurm-config")),
    Case(
        "too old for SlurmConfig",
        age(date(2026, 1, 24), "slurm-config"),
        CheckCode.IMAGE_AGE,
        "was released on 2026-01-24",
        "(SlurmConfig) requires a release of 2026-01-25 or later",
    ),
    Case(
        "too old for accounting",
        age(date(2026, 8, 30), "accounting-database"),
        CheckCode.IMAGE_AGE,
        "an accounting database outside of the cluster requires a release of 2026-08-31 or later",
    ),
    Case(
        "release not published",
        check_image_release(
            "20991231",
            there=False,
            parameter="/aws/service/ecs/x/neuron/al2023-ami-y/image_id",
            owner="service chat",
            region=REGION,
        ),
        CheckCode.IMAGE_PARAMETER,
        "does not publish",
        "--path /aws/service/ecs/x/neuron --region us-west-2",
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
    Case("there", in_bucket(9, has_config=True)),
    Case("yet to be exported", in_bucket(0, exported=True)),
    Case("empty", in_bucket(0), CheckCode.MODEL_MISSING, "there is nothing in that folder"),
    Case("no model", in_bucket(3), CheckCode.MODEL_MISSING, "there is no config.json in"),
    Case(
        "token's secret is gone",
        check_token_secret(_SECRET, there=False, deleted=False, owner="service chat", region=REGION),
        CheckCode.TOKEN_SECRET,
        "does not exist",
        "create-secret",
    ),
    Case(
        "token's secret is being deleted",
        check_token_secret(_SECRET, there=True, deleted=True, owner="service chat", region=REGION),
        CheckCode.TOKEN_SECRET,
        "is being deleted",
        "restore-secret",
    ),
    Case("handed out", hub(200)),
    Case("redirected to its location", hub(307)),
    Case("the Hub has trouble", hub(503)),
    Case("gated", hub(401), CheckCode.GATED, "requires a token", "token_secret"),
    Case("not accepted", hub(403, with_token=True), CheckCode.GATED, "accept its license"),
    Case("misspelled", hub(404, with_token=True), CheckCode.GATED, "of this name and revision"),
    Case("issued", certificate("ISSUED", domain="a.models.example.com")),
    Case("no certificate", certificate(None), CheckCode.CERTIFICATE, "does not exist"),
    Case(
        "not validated",
        certificate("PENDING_VALIDATION"),
        CheckCode.CERTIFICATE,
        "is PENDING_VALIDATION",
        "DNS records",
    ),
    Case("ends soon", certificate("ISSUED", days=3), CheckCode.CERTIFICATE, "ends at 2026-11-25"),
    Case(
        "for another name",
        certificate("ISSUED", domain="a.b.models.example.com"),
        CheckCode.CERTIFICATE,
        "clients use a.b.models.example.com",
    ),
]
