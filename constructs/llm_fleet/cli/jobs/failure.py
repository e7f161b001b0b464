"""How the command says that AWS refuses to lead it to a cluster."""

from collections.abc import Generator
from contextlib import contextmanager

from llm_fleet.cli.failure import is_of_aws, refuse
from llm_fleet.rules.codes import Code


@contextmanager
def told_of_aws(subject: str) -> Generator[None]:
    """Tell what AWS, or boto3 on the way to it, refuses as a problem."""
    try:
        yield
    except ImportError:
        remedy = "run `pip install 'llm-fleet[aws]'`, or `pip install boto3`"
        refuse(Code.JOBS_AWS, "this needs boto3, which is not installed", remedy, subject=subject)
    except Exception as error:
        if not is_of_aws(error):
            raise
        remedy = "see that your credentials are valid, may make this call, and are of the fleet's account"
        refuse(Code.JOBS_AWS, f"AWS refuses: {error}", remedy, subject=subject)
