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
[ "$(id -u)" = 0 ] || { echo "measure: must run as root" >&2; exit 3; }
cd "$(dirname "$0")/../.."
[ -x bin/tandem ] || { echo "measure: bin/tandem is missing: run make build" >&2; exit 3; }
dir=$(mktemp -d)
id=$$
finish() {
	# shellcheck disable=SC2046 # pids are words
	kill $(jobs -p) 2>/dev/null || :
	wait
	for n in 1 2 3 4 5 6 7 8; do ip netns delete "tandem-$id-$n" 2>/dev/null || :; done
	ip link delete "tb$id" 2>/dev/null || :
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 2' INT TERM HUP

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
# seconds FILE adds up what times has written: the children's time, in the second line of two.
seconds() {
	awk '{ split($1 "m" $2, t, /[ms]+/); n = 60 * (t[1] + t[3]) + t[2] + t[4] } NR % 2 == 0 { s += n }
		END { printf "%.1f", s }' "$@"
}

# shellcheck disable=SC2086 # arguments of the program are words
(check "$dir/alone" -- $1; times >"$dir/alone.times")
alone=$(seconds "$dir/alone.times")
echo "alone: $(says "$dir/alone" | tr '\n' ' '): $alone processor seconds"

ip link add "tb$id" type bridge
ip addr add 10.211.55.1/24 dev "tb$id"
ip link set "tb$id" up
failed=0
for workers in ${WORKERS:-1 2 4 8}; do
	rm -f "$dir"/far* "$dir"/worker*
	# shellcheck disable=SC2086
	(check "$dir/far" --distribute embedded=10.211.55.1:0 -- $1; times >"$dir/far.times") &
	lead=$!
	url=
	while [ -z "$url" ]; do
		kill -0 "$lead" 2>/dev/null || { echo "measure: the check has ended before it led" >&2; exit 3; }
		url=$(sed -n -E 's/.*(nats:[^ ]*).*/\1/p' "$dir/far.progress" 2>/dev/null | head -n 1)
		[ -n "$url" ] || sleep 0.02
	done
	n=0
	while [ "$n" -lt "$workers" ]; do
		n=$((n + 1))
		ip netns add "tandem-$id-$n"
		ip link add "tv$id-$n" type veth peer name eth0 netns "tandem-$id-$n"
		ip link set "tv$id-$n" master "tb$id" up
		ip -n "tandem-$id-$n" addr add "10.211.55.$((n + 1))/24" dev eth0
		ip -n "tandem-$id-$n" link set eth0 up
		(ip netns exec "tandem-$id-$n" bin/tandem worker "$url" >"$dir/worker$n" 2>&1 || :
			times >"$dir/worker$n.times") &
	done
	wait
	all=$(seconds "$dir"/far.times "$dir"/worker*.times)
	same=as
	[ "$(says "$dir/far")" = "$(says "$dir/alone")" ] || same="NOT AS" failed=1
	bytes=0 packets=0 n=0
	while [ "$n" -lt "$workers" ]; do
		n=$((n + 1))
		for what in rx tx; do
			bytes=$((bytes + $(cat "/sys/class/net/tv$id-$n/statistics/${what}_bytes")))
			packets=$((packets + $(cat "/sys/class/net/tv$id-$n/statistics/${what}_packets")))
		done
		ip netns delete "tandem-$id-$n"
	done
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
