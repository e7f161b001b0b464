"""Fixtures that several test files use."""

from tests.inference.capacities import capacities as capacities
from tests.inference.fronts import all_fronts as all_fronts
from tests.inference.fronts import fronts as fronts
from tests.inference.services import hub as hub
from tests.inference.services import make as make
from tests.inference.services import managed as managed
from tests.inference.services import talk as talk
from tests.inference.watched import find as find
from tests.inference.watched import templates as templates
