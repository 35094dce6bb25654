#!/bin/sh
# Starts the head of a Ray cluster on this machine: deploy/head.sh [PORT]. Stop it with `ray stop`.
# A node that does not answer is given up after 12 s, not after a minute.
set -eu
RAY_USAGE_STATS_ENABLED=0 ray start --head --port="${1:-6379}" --system-config='{
  "health_check_initial_delay_ms": 2000,
  "health_check_period_ms": 1000,
  "health_check_timeout_ms": 3000,
  "health_check_failure_threshold": 3
}'
