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
# megabytes to and from workers, and those that the largest process of a part had at most.
#
# The exit code is 1 if a result was another one. PARTS="1 2" and FUNCTIONS="hash part" take others,
# and CHECKPOINT=1s has parts save that often. With MEMORY=64 each part has so many megabytes, and
# the rest of its states in files, in the directory EXTERNAL or /var/tmp. With REDUCE=1 all of them
# leave out orders of steps, also the search alone.
# Needs root, ip, and bin/tandem (make build).
set -eu
network=10.211.56
. "$(dirname "$0")/network.sh"
model=$1
[ -z "${REDUCE-}" ] || set -- -reduce "$@"

# peaks PID N notes in the file peak how many megabytes the largest part of N workers has had at most.
peaks() {
	while kill -0 "$1" 2>/dev/null; do
		for n in $(seq "$2"); do
			for p in $(ip netns pids "tandem-$id-$n" 2>/dev/null); do
				awk '/^Name:/ { name = $2 } /^VmHWM:/ && name == "program" { print int($2 / 1000) }' \
					"/proc/$p/status" 2>/dev/null
			done
		done >>"$dir/peaks"
		sleep 0.2
	done
	sort -n "$dir/peaks" | tail -n 1 >"$dir/peak"
}

[ -z "${MEMORY-}" ] || set -- -external "${EXTERNAL:-/var/tmp}" -memory "$MEMORY" "$@"

# What is built is in the cache of the compiler then.
go build -o "$dir/program" ./examples/protocols/together
(for n in 1 2; do
	"$dir/program" ${REDUCE:+-reduce} "$model" >"$dir/alone$n" 2>/dev/null &
done; wait; times >"$dir/alone.times")
alone=$(seconds "$dir/alone.times" | awk '{ printf "%.1f", $1 / 2 }')
cat "$dir/alone1"
echo "alone: $alone processor seconds"

bridge
failed=0
for function in ${FUNCTIONS:-hash part}; do for parts in ${PARTS:-1 2 4 8}; do
	rm -f "$dir"/far* "$dir"/worker* "$dir"/peak*
	# The compiler is not a part of it: with the program in its cache it takes about a second.
	(bin/tandem protocol ./examples/protocols/together --parts "$parts" --partition "$function" \
		--checkpoint "${CHECKPOINT:-10s}" --distribute "embedded=$network.1:0" -- "$@" >"$dir/far" 2>"$dir/far.log"
		times >"$dir/far.times") &
	lead=$!
	peaks "$lead" "$parts" &
	join "$lead" "$dir/far.log" "$parts"
	all=$(seconds "$dir"/far.times "$dir"/worker*.times)
	same=as
	# Of several shortest runs another one may be shown than alone.
	[ "$(head -n 1 "$dir/far")" = "$(head -n 1 "$dir/alone1")" ] || same="NOT AS" failed=1
	crossed "$parts"
	awk -v s="$same" -v a="$alone" -v all="$all" -v t="$(grep ' parts by ' "$dir/far.log")" -v y="$bytes" \
		-v peak="$(cat "$dir/peak")" '
		BEGIN { printf "%s alone; %.1f processor seconds, %.2f; %.1f MB crossed; %d MB resident at most; %s\n", s,
			all, a / all, y / 1e6, peak, t }'
done; done
exit "$failed"
