"""What looks like a secret: names of variables, and texts that services give out as keys and tokens."""

import re

SECRET_VARIABLE = re.compile(r"(^|_)(TOKEN|PASSWORD|SECRET|CREDENTIALS?|(API|ACCESS|SECRET|PRIVATE)_?KEY)(_|$)")
"""The name of an environment variable, in capital letters."""
SECRET_VALUE = re.compile(r"\b(hf_[A-Za-z]{30,}|A(KIA|SIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,})\b")
"""A token of the Hugging Face Hub, an access key of AWS, a token of GitHub; SageMaker itself looks for some (botocore's
documentation of CreateTrainingJob)."""
SECRET_REFERENCE = re.compile(r"\{\{resolve:(secretsmanager|ssm-secure):")
"""A dynamic reference, whose text CloudFormation would write into the property."""
