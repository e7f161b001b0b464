"""Checkpoints that are whole or not there: written aside, named at last, checked before use. Needs no torch."""
