# network.sh is what measure.sh and states.sh share: workers in network namespaces of their own, joined
# to whoever leads by a bridge, and processor seconds. It is sourced with $network, the first three
# bytes of addresses: a bridge of another measurement may be there. It changes to the repository.
# shellcheck shell=sh
measured=$(basename "$0" .sh)
[ "$(id -u)" = 0 ] || { echo "$measured: must run as root" >&2; exit 3; }
cd "$(dirname "$0")/../.."
[ -x bin/tandem ] || { echo "$measured: bin/tandem is missing: run make build" >&2; exit 3; }
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

# bridge makes the bridge. Whoever leads listens at its address, $network.1.
bridge() {
	ip link add "tb$id" type bridge
	ip addr add "$network.1/24" dev "tb$id"
	ip link set "tb$id" up
}

# join PID LOG N has N workers join the process that leads, as soon as its log has the URL, and waits
# until all have ended. Each leaves its output in worker1 and so on, and its times beside it.
join() {
	url=
	while [ -z "$url" ]; do
		kill -0 "$1" 2>/dev/null || { cat "$2" >&2; exit 3; }
		url=$(sed -n -E 's/.*(nats:[^ ]*).*/\1/p' "$2" 2>/dev/null | head -n 1)
		[ -n "$url" ] || sleep 0.02
	done
	n=0
	while [ "$n" -lt "$3" ]; do
		n=$((n + 1))
		ip netns add "tandem-$id-$n"
		ip link add "tv$id-$n" type veth peer name eth0 netns "tandem-$id-$n"
		ip link set "tv$id-$n" master "tb$id" up
		ip -n "tandem-$id-$n" addr add "$network.$((n + 1))/24" dev eth0
		ip -n "tandem-$id-$n" link set eth0 up
		(ip netns exec "tandem-$id-$n" bin/tandem worker "$url" >"$dir/worker$n" 2>&1 || :
			times >"$dir/worker$n.times") &
	done
	wait
}

# crossed N sets bytes and packets to what has crossed the bridge to and from so many workers, and
# removes their namespaces.
crossed() {
	bytes=0 packets=0 n=0
	while [ "$n" -lt "$1" ]; do
		n=$((n + 1))
		for what in rx tx; do
			bytes=$((bytes + $(cat "/sys/class/net/tv$id-$n/statistics/${what}_bytes")))
			packets=$((packets + $(cat "/sys/class/net/tv$id-$n/statistics/${what}_packets")))
		done
		ip netns delete "tandem-$id-$n"
	done
}
