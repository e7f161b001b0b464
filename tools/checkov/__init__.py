"""checkov over the templates of the examples, in an environment of its own: it pins boto3 to another version."""
