#!/bin/sh
# measure.sh PROGRAM-ARGUMENTS: what distribution costs, with 1, 2, 4 and 8 workers. Each worker is
# in a network namespace of its own, joined to the check by a bridge, whose counters tell what has
# crossed. All share the processors of this machine, so times say little, and processor time counts.
#
# Prints a line for each number of workers: whether verdict, executions and transitions are those of
# the search alone; processor seconds of all processes, and which part of them the search alone takes;
# executions that were explored by workers, and in vain; parts; executions of the worker that has the
# fewest and of the one that has the most; bytes and packets to and from workers.
#
# The exit code is 1 if a result was another one. WORKERS="1 2" takes other numbers of workers. Needs
# root, ip, and bin/tandem (make build).
set -eu
network=10.211.55
. "$(dirname "$0")/network.sh"

# check OUTPUT OPTIONS has the search done. The first line that counts is that with executions.
check() {
	out=$1
	shift
	status=0
	bin/tandem check ./examples/classics --races=off --workers 1 --search dpor --executions 1000000000 \
		-o "$dir/counterexample" "$@" >"$out" 2>"$out.progress" || status=$?
	[ "$status" -le 1 ] || { cat "$out.progress" >&2; exit 3; }
}
# What is compared: the verdict, and the counts without times.
says() { sed -n -E '1s/ .*//p; s/^ *([0-9,]+ executions, [0-9,]+ transitions).*/\1/p' "$1"; }

# shellcheck disable=SC2086 # arguments of the program are words
(check "$dir/alone" -- $1; times >"$dir/alone.times")
alone=$(seconds "$dir/alone.times")
echo "alone: $(says "$dir/alone" | tr '\n' ' '): $alone processor seconds"

bridge
failed=0
for workers in ${WORKERS:-1 2 4 8}; do
	rm -f "$dir"/far* "$dir"/worker*
	# shellcheck disable=SC2086
	(check "$dir/far" --distribute "embedded=$network.1:0" -- $1; times >"$dir/far.times") &
	join $! "$dir/far.progress" "$workers"
	all=$(seconds "$dir"/far.times "$dir"/worker*.times)
	same=as
	[ "$(says "$dir/far")" = "$(says "$dir/alone")" ] || same="NOT AS" failed=1
	crossed "$workers"
	balance=$(sed -n -E 's/.*; ([0-9]+) executions in .*/\1/p' "$dir"/worker? | sort -n | sed -n '1p; $p' |
		tr '\n' ' ')
	told=$(sed -n -E 's/.*the workers have (explored .*)/\1/p' "$dir/far.progress")
	awk -v w="$workers" -v s="$same" -v a="$alone" -v all="$all" -v t="$told" -v b="$balance" \
		-v y="$bytes" -v p="$packets" 'BEGIN {
		split(b, m, " ")
		printf "%d workers: %s alone; %.1f processor seconds, %.2f; %s; ", w, s, all, a / all, t
		printf "%d to %d executions each; %.1f MB in %d packets\n", m[1], m[2], y / 1e6, p }'
done
exit "$failed"
