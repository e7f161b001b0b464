#!/bin/sh
# Copies a checkpoint from S3 to the task's disk. Environment variables: SOURCE (s3://…) and CHECKPOINT (a folder).
# PyTorch's older .bin files are left where they are when there are safetensors: they hold the same weights again.
set -eu
mkdir -p "$CHECKPOINT"
if [ -n "$(aws s3 ls "$SOURCE/" | grep '\.safetensors$' || true)" ]; then
  aws s3 cp --recursive --no-progress --exclude '*.bin' "$SOURCE/" "$CHECKPOINT/"
else
  aws s3 cp --recursive --no-progress "$SOURCE/" "$CHECKPOINT/"
fi
if [ ! -e "$CHECKPOINT/config.json" ]; then
  echo "export-source-missing: $SOURCE has no config.json; name the folder that the checkpoint's files are in" >&2
  exit 1
fi
