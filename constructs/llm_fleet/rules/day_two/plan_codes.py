"""The stable codes of `llm-fleet plan`. LF1080 to LF1099."""

from llm_fleet.rules.any_code import AnyCode


class PlanCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    ASSEMBLY = "LF1080", "a folder of which the plan is to be made, and which is no cloud assembly"
    SYNTH = "LF1081", "a fleet that is good by its file, and whose synthesis fails"
    NO_CDK = "LF1082", "a synthesis where the CDK or its Node is not installed"
    PRICE_FILE = "LF1083", "a file of prices that is none"
    PRICE_LIST = "LF1084", "an answer of AWS's Price List that says nothing of what was asked"
    NO_SYNTH = "LF1085", "something asked for that needs the synthesis that was declined"
    DATA = "LF1086", "a deployment that leaves data behind, or deletes it"
    JOBS = "LF1087", "a deployment that ends running jobs"
    REFUSED = "LF1088", "a deployment that CloudFormation or a service would refuse"
    ADDRESS = "LF1089", "a deployment after which a service has another address"
    LEFT_STACK = "LF1090", "a stack that is deployed and that the fleet file no longer has"

    # Of the picture, from the end of the range.
    NO_GRAPHVIZ = "LF1098", "a picture where Graphviz is not installed"
    NO_ASSEMBLY = ("LF1099", "a folder that is no synthesized cloud assembly")
