"""The last lines of a local deployment: what it showed, and the next commands."""

import os
from pathlib import Path

from rich.console import Console


def variables(endpoint: str) -> str:
    """Return the command of a shell after which llm-fleet, the AWS CLI and the SDKs use the emulator."""
    proxy = any(os.environ.get(name) for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"))
    direct = f" NO_PROXY={os.environ.get('NO_PROXY', 'localhost')}" if proxy else ""
    return f"export AWS_ENDPOINT_URL={endpoint} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local{direct}"


def next_steps(console: Console, *, fleet_file: Path, endpoint: str, region: str, look: str) -> None:
    """Print what the run showed, the command `look`, and how to deploy the file to a real account."""
    file = os.path.relpath(fleet_file)
    console.rule("what this showed, and next steps", align="left")
    console.print(
        f"""This was deployed to a local emulation: no AWS account was used, no node was started, and it cost nothing.
It shows that the templates resolve, deploy in order and request the resources of {file} from the services.

Query it:        {variables(endpoint)}
                 aws --region {region} {look}    (requires the AWS CLI)
                 llm-fleet plan {file}    (shows what a change of the file would do)
Change it:       edit the file and run the command again; only changed stacks are updated
All details:     llm-fleet local deploy {file} --verbose
Stop it:         llm-fleet local stop {file}
To a real AWS account, with your credentials and the region of the file:
                 npm ci    (in a new project: installs the CDK CLI)
                 npx cdk bootstrap aws://YOUR-ACCOUNT/{region}
                 npx cdk deploy --all --context fleet={file}
This costs money: all instances and other resources of the file, from the minute they start.""",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
