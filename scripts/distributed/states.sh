#!/bin/sh
# states.sh MODEL: what it costs to divide a search over states, with 1, 2, 4 and 8 parts and workers,
# and each partition function. Each worker is in a network namespace of its own, joined to the one
# that leads by a bridge, whose counters tell what has crossed. All share the processors of this
# machine, so times say little, and processor time counts.
#
# First the search is done alone, in two processes at the same time. Of the processor time of both,
# half is what one takes beside another one. Prints a line for each number of parts: whether what is
# printed of the result is as alone; processor seconds of all processes but those that build the
# program, and which part of them the search alone takes; what the parts say of what they have sent;
# megabytes to and from workers.
#
# The exit code is 1 if a result was another one. PARTS="1 2" and FUNCTIONS="hash part" take others.
# Needs root, ip, and bin/tandem (make build).
set -eu
[ "$(id -u)" = 0 ] || { echo "states: must run as root" >&2; exit 3; }
cd "$(dirname "$0")/../.."
[ -x bin/tandem ] || { echo "states: bin/tandem is missing: run make build" >&2; exit 3; }
model=$1
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

# seconds FILE adds up what times has written: the children's time, in the second line of two.
seconds() {
	awk '{ split($1 "m" $2, t, /[ms]+/); n = 60 * (t[1] + t[3]) + t[2] + t[4] } NR % 2 == 0 { s += n }
		END { printf "%.1f", s }' "$@"
}

# What is built is in the cache of the compiler then.
go build -o "$dir/program" ./examples/protocols/together
(for n in 1 2; do "$dir/program" "$model" >"$dir/alone$n" 2>/dev/null & done; wait; times >"$dir/alone.times")
alone=$(seconds "$dir/alone.times" | awk '{ printf "%.1f", $1 / 2 }')
cat "$dir/alone1"
echo "alone: $alone processor seconds"

ip link add "tb$id" type bridge
ip addr add 10.211.56.1/24 dev "tb$id"
ip link set "tb$id" up
failed=0
for function in ${FUNCTIONS:-hash part}; do for parts in ${PARTS:-1 2 4 8}; do
	rm -f "$dir"/far* "$dir"/worker*
	# The compiler is not a part of it: with the program in its cache it takes about a second.
	(bin/tandem protocol ./examples/protocols/together --parts "$parts" --partition "$function" \
		--distribute embedded=10.211.56.1:0 -- "$model" >"$dir/far" 2>"$dir/far.log"; times >"$dir/far.times") &
	lead=$!
	url=
	while [ -z "$url" ]; do
		kill -0 "$lead" 2>/dev/null || { cat "$dir/far.log" >&2; exit 3; }
		url=$(sed -n -E 's/.*(nats:[^ ]*).*/\1/p' "$dir/far.log" 2>/dev/null | head -n 1)
		[ -n "$url" ] || sleep 0.02
	done
	n=0
	while [ "$n" -lt "$parts" ]; do
		n=$((n + 1))
		ip netns add "tandem-$id-$n"
		ip link add "ts$id-$n" type veth peer name eth0 netns "tandem-$id-$n"
		ip link set "ts$id-$n" master "tb$id" up
		ip -n "tandem-$id-$n" addr add "10.211.56.$((n + 1))/24" dev eth0
		ip -n "tandem-$id-$n" link set eth0 up
		(ip netns exec "tandem-$id-$n" bin/tandem worker "$url" >"$dir/worker$n" 2>&1 || :
			times >"$dir/worker$n.times") &
	done
	wait
	all=$(seconds "$dir"/far.times "$dir"/worker*.times)
	same=as
	# Of several shortest runs another one may be shown than alone.
	[ "$(head -n 1 "$dir/far")" = "$(head -n 1 "$dir/alone1")" ] || same="NOT AS" failed=1
	bytes=0 n=0
	while [ "$n" -lt "$parts" ]; do
		n=$((n + 1))
		for what in rx tx; do
			bytes=$((bytes + $(cat "/sys/class/net/ts$id-$n/statistics/${what}_bytes")))
		done
		ip netns delete "tandem-$id-$n"
	done
	awk -v s="$same" -v a="$alone" -v all="$all" -v t="$(grep ' parts by ' "$dir/far.log")" -v y="$bytes" '
		BEGIN { printf "%s alone; %.1f processor seconds, %.2f; %.1f MB; %s\n", s, all, a / all, y / 1e6, t }'
done; done
exit "$failed"
