"""Watches training jobs: starts again what failed for the service's reasons, stops and resumes what diverges."""
