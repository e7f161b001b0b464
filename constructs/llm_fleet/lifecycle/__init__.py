"""The lifecycle bundle: lifecycle_scripts and the node manifest, content-hashed, in S3."""
