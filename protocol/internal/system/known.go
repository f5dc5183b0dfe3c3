package system

import "encoding/binary"

// Known is how many local states there are, by node, and how many messages.
type Known struct {
	Locals   []int
	Messages int
}

// Known is what the table has.
func (y *System) Known() (k Known) {
	k.Locals, k.Messages = y.Table.Numbers()
	return k
}

// IsState says whether bytes are a state of what was in the table. A checksum says only that they
// are those that were written; whoever has written them may have been anybody. What passes here can
// be unpacked and expanded, even if no run leads there.
func (y *System) IsState(known Known, data []byte) bool {
	ok := true
	next := func(bound uint64) uint64 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n >= bound {
			ok, data = false, nil
			return 0
		}
		data = data[size:]
		return n
	}
	for node := range y.Nodes {
		next(uint64(known.Locals[node]))
	}
	for _, n := range []int{y.Faults.Drops, y.Faults.Duplicates, y.Faults.Crashes, y.Faults.Partitions} {
		if n > 0 {
			next(uint64(n) + 1)
		}
	}
	if y.Faults.Partitions != 0 {
		next(1 << y.Nodes)
	}
	for last := uint64(0); len(data) > 0; {
		bound := uint64(known.Messages)
		if !y.Ordered {
			bound -= last
			last += next(bound)
			continue
		}
		next(bound)
	}
	return ok
}
