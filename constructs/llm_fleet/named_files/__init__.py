"""Reads the files that a fleet file or a construct names: the same reader for both, so that they cannot disagree."""
