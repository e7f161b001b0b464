"""The stable codes of what stands between a fleet file and its deployment in an account. LF1020 to LF1079."""

from llm_fleet.rules.any_code import AnyCode


class CheckCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    QUOTA = "LF1020", "a quota of the account that is smaller than what the fleet takes"
    QUOTA_UNKNOWN = "LF1021", "a quota that AWS does not have in this region"

    NOT_OFFERED = "LF1022", "an instance type that is not offered in the AZ"
    ZONE_OF_ACCOUNT = "LF1023", "an AZ that the account does not have"

    PLAN_STATUS = "LF1024", "a training plan that gives no capacity now"
    PLAN_TIME = "LF1025", "a training plan that has ended, or ends soon"
    PLAN_ZONE = "LF1026", "a training plan in another AZ than the group"
    PLAN_COUNT = "LF1027", "a training plan with fewer free instances than the group takes"
    PLAN_TYPE = "LF1028", "a training plan for other instances or another use"

    RESERVATION_STATE = "LF1029", "a capacity reservation that gives no capacity now"
    RESERVATION_TIME = "LF1030", "a capacity reservation that has ended, or ends soon"
    RESERVATION_ZONE = "LF1031", "a capacity reservation in another AZ than the nodes"
    RESERVATION_COUNT = "LF1032", "a capacity reservation with fewer free instances than the nodes take"
    RESERVATION_TYPE = "LF1033", "a capacity reservation of other instances"

    FREE_ADDRESSES = "LF1034", "an existing subnet with fewer free addresses than the fleet takes"
    SUBNET_ELSEWHERE = "LF1035", "an existing subnet in another VPC or AZ than the fleet file says"
    EFA_RULES = "LF1036", "a security group that does not let EFA traffic in from, and out to, itself"
    FILE_SYSTEM_PORTS = "LF1037", "security groups that keep nodes and file system apart"
    ENDPOINT_MISSING = "LF1038", "a closed existing network without an endpoint that nodes need"
    ENDPOINT_UNUSABLE = "LF1039", "an endpoint that nodes cannot use"
    DEAD_ROUTE = "LF1040", "an existing subnet whose way out leads nowhere"
    SECURITY_GROUP_ELSEWHERE = "LF1041", "a security group of another VPC"

    RULE_EXISTS = "LF1056", "a security group rule that exists already and that the deployment makes"

    NETWORK_MISSING = "LF1045", "a VPC, subnet or security group that is not in this account and region"

    BUCKET_MISSING = "LF1042", "a bucket that does not exist"
    BUCKET_REGION = "LF1043", "a bucket in another region"
    BUCKET_TAKEN = "LF1044", "a new bucket whose name somebody has already"
    FILE_SYSTEM_STATE = "LF1046", "an existing file system that cannot be mounted now"
    FILE_SYSTEM_ZONE = "LF1047", "an existing file system in another AZ or VPC"
    FILE_SYSTEM_OTHER = "LF1048", "an existing file system that is not what the fleet file says"

    IMAGE_STATE = "LF1049", "a custom image that is not there, not ready, or not fit for the nodes"
    IMAGE_AGE = "LF1050", "an image that is older than a feature that the fleet asks for"
    IMAGE_PARAMETER = "LF1051", "a release of an image that AWS does not publish in this region"

    MODEL_MISSING = "LF1052", "a model that is not in its bucket"
    TOKEN_SECRET = "LF1053", "a secret with the Hub's token that does not exist"
    GATED = "LF1054", "a model of the Hub that this token may not download"
    CERTIFICATE = "LF1055", "a certificate that cannot be used"

    ENDPOINT_NOT_OFFERED = "LF1058", "an interface endpoint whose service AWS does not offer in the AZ"
