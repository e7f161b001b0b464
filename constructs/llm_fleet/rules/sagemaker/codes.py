"""The stable codes of what is refused of the SageMaker pieces around clusters.

LF900 to LF909 what they share · LF910 to LF919 notebooks · LF920 to LF929 Studio · LF930 to LF959 endpoints ·
LF960 to LF979 training jobs · LF980 to LF994 the watch
"""

from llm_fleet.rules.any_code import AnyCode


class SageMakerCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    NAME = "LF900", "a name that the service does not take"
    INSTANCE_RETIRED = "LF901", "an instance type that the service no longer offers to new users"
    INSTANCE_UNKNOWN = "LF902", "an instance type that the service does not have for this"
    NETWORK_NEEDED = "LF903", "something that stands in a network, and there is none"
