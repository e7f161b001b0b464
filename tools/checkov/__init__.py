"""checkov over the golden templates, in an environment of its own: it pins boto3 and others to other versions."""
