"""CloudFormation's query API over HTTP, in the form that the CDK CLI and the SDKs use."""
