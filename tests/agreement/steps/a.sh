#!/usr/bin/env bash
# An own step that does nothing.
true
