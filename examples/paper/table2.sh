#!/bin/sh
# table2.sh runs the experiments of the paper's Table II that there are examples for, each exhaustively, in scope
# connection, as in the paper: one row each. It needs bin/ (make build) and root, and runs in the root of the repository.
set -eu

csv=$(mktemp)
trap 'rm -f "$csv"' EXIT

# row TITLE PACKAGE CONFIGURATION ARGS...: one experiment. A verdict is a row, an error ends everything.
row() {
	title=$1 package=$2 configuration=$3
	shift 3
	status=0
	said=$(bin/tandem compare "$package" -c "$configuration" --strategies after-io --scopes connection --time 10m --csv "$csv" -- "$@" 2>&1) || status=$?
	if [ $status -gt 2 ]; then
		printf '%s: %s\n%s\n' "$title" "exit code $status" "$said" >&2
		exit $status
	fi
	# Fields: strategy,backend,scope,verdict,outcomes,seconds,executions,transitions,...
	tail -n 1 "$csv" | awk -F , -v title="$title" '{ printf "%-48s  %-8s  %10d  %11d  %8.2f s\n", title, $4, $7, $8, $6 }'
}

missing() { printf '%-48s  not done: %s\n' "$1" "$2"; }

printf '%-48s  %-8s  %10s  %11s  %10s\n' experiment verdict executions transitions time
for connections in 2 3 4 5; do
	for messages in 1 2 3 4; do
		row "ND alphabet client, $connections x $messages" ./examples/alphabet examples/alphabet/random.yaml -connections $connections -requests $messages
	done
done
missing 'ND alphabet server, up to 5 x 4' 'examples/alphabet/server has two clients, and no parameters'
for connections in 2 3 4 5; do
	row "HTTP client, merecat, $connections connections" ./examples/httpget examples/httpget/tandem.yaml -n $connections
done
missing 'parallel downloader (Jget), 2 and 3 threads' 'there is no such example'
row 'ScpTo, Dropbear' ./examples/scpto examples/scpto/tandem.yaml
row 'ScpTo fixed, Dropbear (in the paper: abstract)' ./examples/scpto/fixed examples/scpto/fixed/tandem.yaml
missing 'ScpTo fixed, abstract SSH server, 1 and 2' 'there is no such server here'
