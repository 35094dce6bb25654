#!/bin/sh
# Starts the head of a Ray cluster on this machine: deploy/head.sh [PORT]. Stop it with `ray stop`.
# A node that does not answer is given up after 12 s, not after a minute.
# Who can reach a Ray cluster can run programs on it, so it asks for the token in ~/.ray/auth_token, which is made here if
# there is none. Copy that file to every other machine, and set RAY_AUTH_MODE=token there for `ray start` and `tengen`.
set -eu
export RAY_AUTH_MODE=token
ray get-auth-token --generate > /dev/null
RAY_USAGE_STATS_ENABLED=0 ray start --head --port="${1:-6379}" --system-config='{
  "health_check_initial_delay_ms": 2000,
  "health_check_period_ms": 1000,
  "health_check_timeout_ms": 3000,
  "health_check_failure_threshold": 3
}'
