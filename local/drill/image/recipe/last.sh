#!/usr/bin/env bash
# Ends a layer: tells systemd that the first boot has nothing to catch up on, and leaves out what no node reads.
set -euo pipefail

rm -rf /var/cache/apt/*.bin /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
# Without these, every node's first boot rebuilds caches that the image has.
touch --reference=/usr /etc/.updated /var/.updated
