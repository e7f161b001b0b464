"""Whether a model can be read: from its bucket, or from the Hub."""

from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem

CONFIG = "config.json"


def check_model_in_bucket(
    uri: str, *, files: int, has_config: bool, owner: str, exported: bool, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when the folder has no model. `exported`: whether the fleet itself puts it there later."""
    if has_config or exported:
        return []
    what = f"no {CONFIG}" if files else "nothing"
    return [
        Problem(
            code=CheckCode.MODEL_MISSING,
            path=path,
            message=f"{owner} serves {uri}, and there is {what} in that folder",
            value=uri,
            allowed=f"a folder with the model's {CONFIG}",
            remedy=f"copy the model there with `aws s3 sync <folder> {uri}`, or name the folder that has its {CONFIG}",
        )
    ]


def check_token_secret(
    arn: str, *, there: bool, deleted: bool, owner: str, region: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when the secret with the Hub's token is not there, or is being deleted."""
    if there and not deleted:
        return []
    state = "is being deleted" if there else "does not exist"
    return [
        Problem(
            code=CheckCode.TOKEN_SECRET,
            path=path,
            message=f"the secret of {owner} with the Hub's token {state}",
            value=arn,
            remedy=f"take it back with `aws secretsmanager restore-secret --secret-id {arn} --region {region}`"
            if there
            else "make one with `aws secretsmanager create-secret --name hugging-face-token --secret-string "
            f"file://token.txt --region {region}`, and write its ARN",
        )
    ]


def check_hub_model(
    model_id: str, *, status: int, with_token: bool, owner: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return why the Hub does not hand out a model; `status` is that of HTTP for its config.json."""
    if status < 400 or status >= 500:
        return []
    page = f"https://huggingface.co/{model_id}"
    if status in (401, 403):
        why = "does not hand it to this token" if with_token else "asks for a token"
        remedy = (
            f"accept its licence at {page} with the token's own account, and let the token read gated repositories"
            if with_token
            else f"accept its licence at {page}, put a token into a secret, and write its ARN as `token_secret`; a "
            "name that is misspelt is answered like this too"
        )
        message = f"{owner} serves {model_id}, and the Hugging Face Hub {why}"
    else:
        message = f"{owner} serves {model_id}, and the Hub has no {CONFIG} of that name and revision ({status})"
        remedy = f"see {page}: write the name and revision as they stand there"
    return [Problem(code=CheckCode.GATED, path=path, message=message, remedy=remedy, value=model_id)]
