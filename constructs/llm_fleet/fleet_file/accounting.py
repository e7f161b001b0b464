"""A database for Slurm's accounting outside a HyperPod cluster."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.values import nearest
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.spec.values import wrong_value

LOCAL_ACCOUNTING = "local"
"""What a user writes for the HyperPod controller's own database; `in_long_form` reads it as nothing."""

FLEET_DATABASE = "slurm_database"
"""What a user writes for the fleet's own database: the key of it under `storage`."""


MADE_BY_THE_FLEET = "made-by-the-fleet"
MADE_SECRET_ARN = f"arn:aws:secretsmanager:us-west-2:111122223333:secret:{MADE_BY_THE_FLEET}"
"""Good values, so that the rules find nothing to say of what no user has written."""


def read_word(written: Any, fleets_own: FleetModel) -> Any:
    """Return `fleets_own` for the word of the fleet's own database, and anything else as it is.

    Refuses a word that is most like it.
    """
    if written == FLEET_DATABASE:
        return fleets_own
    if not isinstance(written, str) or nearest(written, (FLEET_DATABASE, LOCAL_ACCOUNTING)) != FLEET_DATABASE:
        return written
    raise wrong_value(
        Code.NOT_A_CHOICE,
        "this is none of the words that may stand here",
        allowed=f"{FLEET_DATABASE}, or a mapping of keys to values",
        remedy=f"write `accounting: {FLEET_DATABASE}`",
    )


class AccountingConfig(AccountingDatabase):
    """A MySQL-compatible database for slurmdbd. It needs Continuous provisioning and can never be taken away again."""

    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own."""


class FleetAccounting(AccountingConfig):
    """The fleet's own database: what a user writes as the word `slurm_database`. Its values are the stack's to know."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else as it is."""
        return read_word(written, cls.model_construct(endpoint=MADE_BY_THE_FLEET, secret=MADE_SECRET_ARN))


AnyAccounting = Annotated[AccountingConfig, BeforeValidator(FleetAccounting.read)]
"""A database of the user's, or the word for the fleet's own."""
