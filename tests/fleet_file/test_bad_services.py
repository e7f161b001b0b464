"""Errors in a service that only a fleet file can have: each reported once, at its key, with its remedy."""

import pytest

from llm_fleet.catalog.network import regions
from llm_fleet.fleet_file.service import ServiceConfig
from llm_fleet.rules.codes import Code
from tests.fleet_file.good_service import MODEL, problems

KEY = "'arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef'"
COUNT = "count: 2"

BAD = {
    "no network": (("{azs: [usw2-az1, usw2-az2]}", "none"), "LF125", "services.chat", "azs"),
    "the network's stack": (("  chat:", "  network:"), "LF124", "services.network", "another name"),
    "the export's stack": (
        (
            *(
                "services:\n",
                f"services:\n  chat-export: {{model: {MODEL}, instance: inf2.xlarge, front: {{http: true}}}}\n",
            ),
            *(COUNT, "export: {source: a/b}"),
        ),
        "LF124",
        "services.chat.export",
        "another name",
    ),
    "no location": ((MODEL, "{name: x}"), "LF111", "services.chat.model", "s3://my-models"),
    "two locations": ((MODEL, f"{{s3: {MODEL}, hub: a/b}}"), "LF117", "services.chat.model.hub", "remove one"),
    "a prefix alone": ((MODEL, f"{{s3: {MODEL}, prefix: a}}"), "LF117", "services.chat.model.prefix", "s3"),
    "an unknown bucket": (
        (MODEL, "{bucket: model, prefix: tanuki-8b}"),
        "LF119",
        "services.chat.model.bucket",
        "models",
    ),
    "a key of the fleet's bucket": (
        (MODEL, f"{{bucket: models, prefix: tanuki-8b, key: {KEY}}}"),
        "LF117",
        "services.chat.model.key",
        "remove it",
    ),
    "a key on the Hub": (
        (MODEL, f"{{hub: a/tanuki-8b, key: {KEY}}}", "inf2.xlarge", "inf2.8xlarge"),
        "LF724",
        "services.chat.model.key",
        "remove `key`",
    ),
    "a size set twice": (
        (
            MODEL,
            "{s3: s3://a-b/c, config: a.json, shape: {parameters: 1 B, layers: 2, heads: 8, kv_heads: 8, head_dim: 8}}",
        ),
        "LF117",
        "services.chat.model.config",
        "remove one",
    ),
    "parameters without a unit": (
        (MODEL, "{s3: s3://a-b/c, shape: {parameters: 8, layers: 2, heads: 8, kv_heads: 8, head_dim: 8}}"),
        "LF115",
        "services.chat.model.shape.parameters",
        "`8 B`",
    ),
    "incompatible numbers of heads": (
        (MODEL, "{s3: s3://a-b/c, shape: {parameters: 1 B, layers: 2, heads: 8, kv_heads: 3, head_dim: 8}}"),
        "LF717",
        "services.chat.model.shape.kv_heads",
        "num_key_value_heads",
    ),
    "a token on S3": (
        (MODEL, f"{{s3: {MODEL}, token_secret: 'arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf'}}"),
        "LF713",
        "services.chat.model.token_secret",
        "`token_secret`",
    ),
    "a name with a reserved prefix of ECS": (
        ("fleet: test", "fleet: ecs"),
        "LF760",
        "services.chat",
        "begin",
    ),
    "a checkpoint in the image": (
        (COUNT, "export: {source: /models/tanuki-8b}"),
        "LF722",
        "services.chat.export.source",
        "Hub",
    ),
    "an export of a missing checkpoint": (
        (COUNT, "export: {source: {bucket: model}}"),
        "LF119",
        "services.chat.export.source.bucket",
        "models",
    ),
    "a service with too many hosts": (
        ("[usw2-az1, usw2-az2]", "[usw2-az1, usw2-az2], compute_cidr: 10.1.0.0/26", COUNT, "count: 2\n    max: 40"),
        "LF220",
        "network.compute_cidr",
        "/25",
    ),
    "a load balancer in a known AZ": (
        ("[usw2-az1, usw2-az2]", "[usw2-az1, usw2-az2], load_balancer_azs: [usw2-az2]"),
        "LF758",
        "network.load_balancer_azs",
        "another AZ",
    ),
    "existing subnets of one AZ": (
        (
            "{azs: [usw2-az1, usw2-az2]}",
            "{vpc: {id: vpc-0123456789abcdef0, subnets: {usw2-az1: subnet-0123456789abcdef0}, "
            "vpc_cidrs: [10.0.0.0/16]}}",
        ),
        "LF754",
        "network.vpc.subnets",
        "private_subnets",
    ),
    "an unknown key of hosts": (
        (COUNT, "hosts: {kind: managed}"),
        "LF110",
        "services.chat.hosts.kind",
        "write `capacity`",
    ),
    "an unknown key of the network": (
        ("{azs:", "{kind: vpc, azs:"),
        "LF110",
        "network.kind",
        "one of the allowed keys",
    ),
    "no front": (("front: {http: true}", "tags: {}"), "LF742", "services.chat.front", "write `http: true`"),
    "an invalid address of unknown size": ((MODEL, "s3://"), "LF710", "services.chat.model", "s3://bucket"),
    "an existing VPC with unknown addresses": (
        (
            "{azs: [usw2-az1, usw2-az2]}",
            "{vpc: {id: vpc-0123456789abcdef0, subnets: {usw2-az1: subnet-0123456789abcdef0, "
            "usw2-az2: subnet-0123456789abcdef1}}}",
        ),
        "LF757",
        "services.chat.front.allowed_from",
        "vpc_cidrs",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_one_error_at_its_key_with_its_remedy(what: str):
    edits, code, where, remedy = BAD[what]
    found = problems(*edits)
    assert [problem.code.value for problem in found] == [code], [str(problem) for problem in found]
    assert found[0].where.startswith(where)
    assert remedy in found[0].remedy
    assert getattr(found[0], "line", 0) > 1


@pytest.mark.parametrize(
    ("edits", "remedy"),
    [
        (("instance:", "instance_type:"), "write `instance`"),
        (("count:", "replicas:"), "write `count`"),
        (("    count: 2", "    image: mine:1"), "server: {kind: tgi, image"),
        (("batch_size: 4", "max_batch_size: 4"), "write `batch_size`"),
        (("http: true", "http: true, allowed_cidrs: [10.0.0.0/8]"), "write `allowed_from`"),
        (("kind: tgi", "kind: vllm"), "`hugging-face-vllm`"),
        ((COUNT, "hosts: fargate"), "Fargate has no Neuron devices"),
    ],
)
def test_keys_of_other_tools_are_reported_with_a_remedy(edits: tuple[str, ...], remedy: str):
    assert any(remedy in problem.remedy for problem in problems(*edits))


MISTAKES = {
    "a front with a misspelled key": (("http: true", "htp: true"), "LF110"),
    "a certificate with another key": (
        ("http: true", "cert: 'arn:aws:acm:us-west-2:111122223333:certificate/a'"),
        "LF110",
    ),
    "an instance without a value": (("inf2.xlarge", ""), "LF112"),
    "a size with a misspelled key": ((MODEL, "{s3: s3://a-b/c, shap: {}}"), "LF110"),
    "a maximum that is not a number": ((COUNT, "count: 2\n    max: six\n    scaling: {queue: 2}"), "LF113"),
    "an invalid network": (("{azs: [usw2-az1, usw2-az2]}", "usw2-az1"), "LF113"),
    "an invalid region": (
        ("us-west-2", "us-west-22", "http: true", "certificate: 'arn:aws:acm:us-west-2:111122223333:certificate/a-b'"),
        "LF558",
    ),
    "an invalid batch on a host that is too small for the default": (
        ("batch_size: 4", "batch_size: one", MODEL, "s3://my-models/llama-2-13b"),
        "LF113",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_reported_once(mistake: str):
    edits, code = MISTAKES[mistake]
    assert [problem.code.value for problem in problems(*edits)] == [code]


def test_remedies_use_the_keys_of_the_file():
    """No remedy names an attribute or a class method of Python that has another key in the file."""
    attributes = {name for name in ServiceConfig.model_fields if ServiceConfig.key_of(name) != name and "_" in name}
    texts = " ".join(str(problem) for edits, *_ in BAD.values() for problem in problems(*edits))
    for word in (
        *attributes,
        "runtime_version",
        "allowed_cidrs",
        "plain_http",
        "Model.",
        "ModelShape",
        "Ec2Hosts",
        "key_arn",
    ):
        assert word not in texts, word


@pytest.mark.parametrize(("region", "zones"), [("us-west-2", "usw2"), ("eu-north-1", "eun1"), ("mars-1", "usw2")])
def test_the_remedy_for_a_missing_network_is_valid_for_services(region: str, zones: str):
    found = problems("us-west-2", region, "network: {azs: [usw2-az1, usw2-az2]}\n", "")
    (problem,) = [each for each in found if each.code is Code.MISSING_KEY]
    written = f"network: {{azs: [{zones}-az1, {zones}-az2]}}"
    assert f"`{written}`" in problem.remedy
    assert problem.message.startswith("`network` is required")
    if region in regions():
        assert problems("us-west-2", region, "network: {azs: [usw2-az1, usw2-az2]}", written) == ()
        (none,) = problems("us-west-2", region, "{azs: [usw2-az1, usw2-az2]}", "none")
        assert f"`{written}`" in none.remedy
