"""Of what form the values of each part of a service are, and what to write in Python for one of another."""

from collections.abc import Mapping

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form
from llm_fleet.rules.inference.terms import Authentication, ClaimFormat, ModelSource, ServerKind


def _text(code: Code, example: str, *, optional: bool = True, secret: bool = False) -> Form:
    return Form(wanted="a text", types=(str,), code=code, remedy=f"write {example}", optional=optional, secret=secret)


def _whole(code: Code, example: str, *, optional: bool = False) -> Form:
    return Form(wanted="a whole number", types=(int,), code=code, remedy=f"write {example}", optional=optional)


def _bool(code: Code) -> Form:
    return Form(wanted="True or False", types=(bool,), code=code, remedy="write True or False, without quotes")


FRONT: Mapping[str, Form] = {
    "certificate_arn": _text(Code.FRONT_CERTIFICATE, "the certificate's ARN, 'arn:aws:acm:…', in quotes"),
    "plain_http": _bool(Code.FRONT_PLAIN_HTTP),
    "public": _bool(Code.FRONT_PUBLIC_CIDRS),
    "allowed_cidrs": Form(
        wanted="a tuple or list of texts",
        types=(tuple, list),
        code=Code.FRONT_CIDR,
        remedy='write allowed_cidrs=("203.0.113.0/24",): a tuple, of one range as well',
    ),
    "authentication": Form(
        wanted=" or ".join(f"Authentication.{each.name}" for each in Authentication),
        types=(Authentication,),
        code=Code.NOT_A_CHOICE,
        remedy="write Authentication.API_KEY, or leave it out, which is the same",
    ),
    "jwt": Form(
        wanted="a Jwt",
        has=("issuer", "jwks_endpoint", "claims"),
        code=Code.FRONT_JWT,
        remedy='write Jwt(issuer="https://…", jwks_endpoint="https://…")',
        optional=True,
    ),
    "api_key_secret_arn": _text(Code.FRONT_API_KEY, "the secret's ARN, 'arn:aws:secretsmanager:…', in quotes"),
    "longest_answer_seconds": _whole(Code.FRONT_LONGEST_ANSWER, "seconds, e.g. 600, or leave it out"),
    "domain_name": _text(Code.FRONT_DOMAIN_NAME, "the name that clients use, e.g. 'chat.example.com'"),
    "requests_per_five_minutes": _whole(Code.FRONT_RATE, "a number, e.g. 3000, or leave it out"),
}
JWT: Mapping[str, Form] = {
    "issuer": _text(Code.FRONT_JWT_URL, "the issuer's URL, 'https://…'", optional=False),
    "jwks_endpoint": _text(Code.FRONT_JWT_URL, "the URL of its keys, 'https://…'", optional=False),
    "claims": Form(
        wanted="a tuple or list of JwtClaim",
        types=(tuple, list),
        code=Code.FRONT_JWT_CLAIM,
        remedy='write claims=(JwtClaim(name="aud", values=("chat",)),): a tuple, of one claim as well',
    ),
}
CLAIM = Form(
    wanted="a JwtClaim",
    has=("name", "values", "format"),
    code=Code.FRONT_JWT_CLAIM,
    remedy='write JwtClaim(name="aud", values=("chat",))',
)
CLAIM_FIELDS: Mapping[str, Form] = {
    "name": _text(Code.FRONT_JWT_CLAIM, "the claim's name, e.g. 'aud'", optional=False),
    "values": Form(
        wanted="a tuple or list of texts",
        types=(tuple, list),
        code=Code.FRONT_JWT_CLAIM,
        remedy='write values=("chat",): a tuple, of one value as well',
    ),
    "format": Form(
        wanted=" or ".join(f"ClaimFormat.{each.name}" for each in ClaimFormat),
        types=(ClaimFormat,),
        code=Code.FRONT_JWT_CLAIM,
        remedy="write ClaimFormat.STRING_ARRAY where tokens have a list, or leave it out for one text",
    ),
}
CLAIM_VALUE = _text(Code.FRONT_JWT_CLAIM, "the value in quotes", optional=False)
RANGE = _text(Code.FRONT_CIDR, "the range in quotes, e.g. '203.0.113.0/24'", optional=False)

HOSTS: Mapping[str, Form] = {
    "instance_type": _text(Code.HOST_TYPE, "EC2's name as a text, e.g. 'inf2.xlarge'", optional=False),
    "root_volume_gib": _whole(Code.HOST_ROOT_VOLUME, "GiB without quotes, e.g. 200, or leave it out", optional=True),
    "ami": _text(Code.HOST_AMI, "a release in quotes, e.g. '20260701', or an id as 'ami-0123456789abcdef0'"),
    "driver_version": _text(Code.VERSION_FORM, "all four numbers in quotes, e.g. '2.28.0.0'"),
    "install_driver": _bool(Code.HOST_AMI_DRIVER),
}

SERVER: Mapping[str, Form] = {
    "batch_size": _whole(Code.SERVER_SIZE, "a number, e.g. 4, or leave it out"),
    "sequence_length": _whole(Code.SERVER_SIZE, "a number, e.g. 4096, or leave it out"),
    "tensor_parallel": _whole(Code.TENSOR_PARALLEL, "a number, e.g. 2, or leave it out for all cores", optional=True),
    "image": _text(Code.SERVER_IMAGE, "registry, repository and tag in quotes"),
    "runtime_version": _text(Code.VERSION_FORM, "all four numbers in quotes, e.g. '2.28.0.0'"),
    "environment": Form(
        wanted="a mapping of names to texts",
        types=(Mapping,),
        code=Code.SERVER_ENVIRONMENT,
        remedy='write environment={"NEURON_RT_LOG_LEVEL": "INFO"}',
        secret=True,
    ),
    "capabilities": Form(
        wanted="a tuple or list of texts",
        types=(tuple, list),
        code=Code.SERVER_CAPABILITY,
        remedy='write capabilities=("IPC_LOCK",): a tuple, of one capability as well',
    ),
}
KIND = Form(
    wanted=" or ".join(f"ServerKind.{each.name}" for each in ServerKind),
    types=(ServerKind,),
    code=Code.NOT_A_CHOICE,
    remedy="write ModelServer.tgi(), or another of its makers",
)

MODEL: Mapping[str, Form] = {
    "revision": _text(Code.MODEL_REVISION, "a branch, tag or commit in quotes"),
    "token_secret_arn": _text(
        Code.MODEL_TOKEN, "the ARN of the secret that holds the token, 'arn:aws:secretsmanager:…'", secret=True
    ),
    "compiled": _bool(Code.MODEL_NOT_COMPILED),
    "shape": Form(
        wanted="a ModelShape",
        has=("parameters", "layers", "attention_heads", "kv_heads", "head_dim", "bytes_per_parameter"),
        code=Code.MODEL_SHAPE,
        remedy='write ModelShape.from_config("config.json"), or ModelShape(…) with its numbers',
        optional=True,
    ),
    "served_name": _text(Code.MODEL_NAME, "a short name, e.g. 'tanuki-8b'"),
    "key_arn": _text(Code.MODEL_KEY, "the key's ARN, 'arn:aws:kms:…', in quotes"),
    "token_key_arn": _text(Code.MODEL_KEY, "the key's ARN, 'arn:aws:kms:…', in quotes"),
}
LOCATION: Mapping[ModelSource, Form] = {
    ModelSource.S3: _text(Code.MODEL_PLACE, 'Model.from_s3("s3://my-models/tanuki-8b")', optional=False),
    ModelSource.HUB: _text(Code.MODEL_HUB_ID, 'Model.from_hub("owner/name")', optional=False),
    ModelSource.IMAGE: _text(Code.MODEL_IMAGE_PATH, 'Model.in_image("/opt/model")', optional=False),
}
SOURCE = Form(
    wanted=" or ".join(f"ModelSource.{each.name}" for each in ModelSource),
    types=(ModelSource,),
    code=Code.NOT_A_CHOICE,
    remedy='write Model.from_s3("s3://my-models/tanuki-8b"), or another of its makers',
)

LOG_DAYS = _whole(Code.SERVICE_LOG_DAYS, "a number of days, e.g. 30")
GRACE = _whole(Code.SERVICE_GRACE, "seconds without quotes, or leave it out for the catalog's figure", optional=True)
NAME = _text(Code.SERVICE_NAME, "a short name in quotes, such as 'chat'", optional=False)
