"""Code on a SageMaker notebook instance: pins the SDK, and stops the instance when it is idle.

Standard library only, except boto3, which Jupyter's environments have; Python 3.9 of Amazon Linux 2023.
"""
