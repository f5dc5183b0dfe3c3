#!/bin/sh
# loss.sh MODEL: what it costs to lose one of two parts in the middle of a search over states, without
# checkpoints and with them. Both parts are on this machine, and share its processors with all else.
# So the middle is half of the processor time that the largest process takes if nobody kills it.
#
# Prints a line for each search: whether what is printed of the result is as without a loss;
# processor seconds of all processes but the compiler; what the parts say of what they have done.
#
# The exit code is 1 if a result was another one. CHECKPOINT=10s says how often parts save at most.
# Needs bin/tandem (make build).
set -eu
cd "$(dirname "$0")/../.."
[ -x bin/tandem ] || { echo "loss: bin/tandem is missing: run make build" >&2; exit 3; }
model=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' INT TERM HUP

# largest PID sets process to the child of a process that has used the processor most, and ticks to
# how much that was. Only the processes of the search count, and not the compiler.
largest() {
	process= ticks=0
	for p in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		n=$(awk '$2 == "(program)" { print $14 + $15 }' "/proc/$p/stat" 2>/dev/null) || continue
		[ "${n:-0}" -le "$ticks" ] || process=$p ticks=$n
	done
}

# search NAME CHECKPOINT HALF searches, and kills a part when it has used so many ticks; 0: never. It
# sets most to the ticks of the largest process.
search() {
	(bin/tandem protocol ./examples/protocols/together --parts 2 --distribute embedded --checkpoint "$2" \
		-- "$model" >"$dir/$1" 2>"$dir/$1.log" & echo $! >"$dir/pid"; wait; times >"$dir/$1.times") &
	shell=$! most=0 half=$3
	until [ -s "$dir/pid" ]; do sleep 0.02; done
	tandem=$(cat "$dir/pid")
	rm "$dir/pid"
	while kill -0 "$shell" 2>/dev/null; do
		largest "$tandem"
		[ "$ticks" -le "$most" ] || most=$ticks
		if [ "$half" -gt 0 ] && [ "$ticks" -ge "$half" ]; then
			kill -9 "$process"
			half=0
		fi
		sleep 0.05
	done
	same=as
	cmp -s "$dir/$1" "$dir/whole" || same="NOT AS" failed=1
	awk -v n="$1" -v s="$same" -v t="$(grep ' parts by ' "$dir/$1.log")" '
		NR == 2 { split($1 "m" $2, a, /[ms]+/)
			printf "%s: %s without a loss; %.1f processor seconds; %s\n", n, s, 60 * (a[1] + a[3]) + a[2] + a[4], t }
		' "$dir/$1.times"
}

failed=0
go build -o "$dir/program" ./examples/protocols/together # what is built is in the cache then
search whole 0 0
middle=$((most / 2))
search checkpoints "${CHECKPOINT:-10s}" 0
search lost 0 "$middle"
search saved "${CHECKPOINT:-10s}" "$middle"
exit "$failed"
