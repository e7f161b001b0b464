"""CloudFormation's query API over HTTP, as the CDK CLI and the SDKs speak it."""
