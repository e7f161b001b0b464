"""What runs on a SageMaker notebook instance: the pin of the SDK, and what stops the instance when nobody uses it.

Standard library only, but for boto3, which Jupyter's own environments have; Python 3.9, that of Amazon Linux 2023.
"""
