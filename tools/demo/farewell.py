"""The last lines of the demo: what it proved, and the next commands."""

import os
from pathlib import Path

from rich.console import Console

from tools.synth_environment import ROOT


def farewell(console: Console, *, fleet_file: Path, endpoint: str, region: str, look: str) -> None:
    """Print what the run proved, the command `look`, and how to deploy the file to a real account."""
    file = os.path.relpath(fleet_file, ROOT)
    console.rule("what this proved, and next steps", align="left")
    console.print(
        f"""This was deployed to a local emulation: no AWS account was used, no node was started, and it cost nothing.
It shows that the templates resolve, deploy in order and request the resources of {file} from the services.

Query it:        AWS_ENDPOINT_URL={endpoint} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local \\
                   aws --region {region} {look}
All details:     make demo FLEET={file} VERBOSE=1    (an unchanged file changes nothing)
Stop it:         make demo-stop
To a real AWS account, with your credentials and the region of the file (source .venv/bin/activate first):
                 npx cdk bootstrap --context fleet={file}
                 npx cdk deploy --all --context fleet={file}
This costs money: all instances and other resources of the file, from the minute they start.""",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
