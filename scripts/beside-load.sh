#!/bin/sh
# beside-load.sh COMMAND...: run a command while twice as many busy processes run as there are processors.
# They end with it, however it ends, and its exit code is this script's.
set -eu

busy=
trap 'kill $busy 2>/dev/null || true' EXIT
trap 'exit 1' INT TERM
for _ in $(seq $((2 * $(nproc)))); do
	sh -c 'while [ "$(ps -o ppid= -p $$ | tr -d " ")" = "$0" ]; do i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; done' $$ &
	busy="$busy $!"
done
status=0
"$@" || status=$?
exit $status
