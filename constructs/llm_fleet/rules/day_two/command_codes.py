"""The stable codes of the command itself, and of AWS when it refuses to be asked. LF1000 to LF1019."""

from llm_fleet.rules.any_code import AnyCode


class CommandCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    NO_BOTO3 = "LF1000", "AWS is to be asked, and boto3 is not installed"
    NO_CREDENTIALS = "LF1001", "AWS is to be asked, and there are no credentials"
    EXPIRED = "LF1002", "credentials that have expired"
    INVALID_CREDENTIALS = "LF1003", "credentials that AWS does not know, or not in this region"
    DENIED = "LF1004", "a call that these credentials may not make"
    THROTTLED = "LF1005", "a call that AWS turned away for coming too often, again and again"
    UNREACHABLE = "LF1006", "an endpoint of AWS that does not answer"
    REGION = "LF1007", "a region that is not named, does not exist or is not enabled"
    GONE = "LF1008", "something in AWS that is not there, or no longer"
    REFUSED = "LF1009", "a call that AWS refuses for another reason"

    PLACE_UNKNOWN = "LF1010", "a cluster or service that the fleet file does not have"
    PLACE_NEEDED = "LF1011", "one of several clusters or services is meant, and nobody said which"
    PLACE_KIND = "LF1012", "a command for another kind of cluster or service"
    FILE_OR_NAME = "LF1013", "neither a fleet file nor the name of something in AWS"

    @property
    def is_of_aws(self) -> bool:
        """Whether AWS could not be asked, so that nobody knows whether something is wrong."""
        return self.value <= CommandCode.REFUSED.value and self is not CommandCode.GONE
