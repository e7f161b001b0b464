#!/bin/sh
# Copies the exported model to S3. Environment variables: MODEL (a folder), TARGET (s3://…) and MARKER (a file name).
# The marker is deleted first and written last: a folder that has it is complete at any time.
set -eu
aws s3 rm "$TARGET/$MARKER"
aws s3 cp --recursive --no-progress --exclude "$MARKER" "$MODEL/" "$TARGET/"
aws s3 cp --no-progress "$MODEL/$MARKER" "$TARGET/$MARKER"
echo "export-done: $TARGET"
