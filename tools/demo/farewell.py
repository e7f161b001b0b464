"""What the demo says last: what was shown, and the way on."""

import os
from pathlib import Path

from rich.console import Console

from tools.synth_environment import ROOT


def farewell(console: Console, *, fleet_file: Path, endpoint: str, region: str, look: str) -> None:
    """Print what the run proved, the command to `look` around, and how to deploy the file to a real account."""
    file = os.path.relpath(fleet_file, ROOT)
    console.rule("what this was, and how to go on", align="left")
    console.print(
        f"""This was deployed to a local emulation: no AWS account was used, no node was started, nothing was paid.
It shows that the templates resolve, deploy in order and ask the services for what {file} says.

Look around:    AWS_ENDPOINT_URL={endpoint} AWS_ACCESS_KEY_ID=embedded AWS_SECRET_ACCESS_KEY=embedded \\
                  aws --region {region} {look}
Run it again:   make demo FLEET={file}          (an unchanged file changes nothing)
Stop it:        make demo-stop

To a real account, with your own credentials and the region of the file:
                source .venv/bin/activate
                npx cdk bootstrap aws://YOUR-ACCOUNT/{region}
                npx cdk deploy --all --context fleet={file}
That costs what the instances, and all else that the file asks for, cost from the minute they start.""",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
