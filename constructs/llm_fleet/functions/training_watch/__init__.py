"""Watches training jobs: restarts jobs that failed because of the service, stops and resumes jobs that diverge."""
