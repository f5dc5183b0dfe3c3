package pick

import (
	"math/rand/v2"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/sut"
)

// Known is what walks have come to, of which later ones make their choices.
type Known struct {
	// Lengths are those of the longest execution of each node, in transitions.
	Lengths []int
	// Inputs are the most inputs of each node, and Disks the most of those about its disk.
	Inputs, Disks []int
	// Rare is, of each node, at how many points at most rare events of each kind could happen, such
	// as faults of the network.
	Rare   [][]int
	Ticks  int // how often the clock has advanced, at most
	Events int // how many there were in a walk, at most
	// Datagrams is how many nodes have sent to each other in a walk, at most.
	Datagrams int
}

// NewKnown is what is known of so many nodes before the first walk.
func NewKnown(nodes int) Known {
	k := Known{Lengths: make([]int, nodes), Inputs: make([]int, nodes), Disks: make([]int, nodes)}
	for range nodes {
		k.Rare = append(k.Rare, make([]int, sut.RareKinds))
	}
	return k
}

// IsOf says whether it is of so many nodes.
func (k *Known) IsOf(nodes int) bool {
	return len(k.Lengths) == nodes && len(k.Inputs) == nodes && len(k.Disks) == nodes &&
		len(k.Rare) == nodes && !slices.ContainsFunc(k.Rare, func(points []int) bool {
		return len(points) != int(sut.RareKinds)
	})
}

// With is what is known of both, of equally many nodes.
func (k *Known) With(other *Known) Known {
	both := Known{Lengths: most(k.Lengths, other.Lengths), Inputs: most(k.Inputs, other.Inputs),
		Disks: most(k.Disks, other.Disks), Ticks: max(k.Ticks, other.Ticks),
		Events: max(k.Events, other.Events), Datagrams: max(k.Datagrams, other.Datagrams)}
	for node := range k.Rare {
		both.Rare = append(both.Rare, most(k.Rare[node], other.Rare[node]))
	}
	return both
}

// most has the greater one of each two numbers.
func most(a, b []int) []int {
	all := slices.Clone(a)
	for i := range all {
		all[i] = max(all[i], b[i])
	}
	return all
}

// Count notes at how many points of a node rare events could happen.
func (k *Known) Count(node int, points [sut.RareKinds]int) {
	k.Rare[node] = most(k.Rare[node], points[:])
}

// RareEvents chooses which rare events a node has: none, or some of one kind or several, at points
// that walks have come to. They happen nowhere else. If each point had the same chance instead, a
// long execution would never get to its end undisturbed.
func (k *Known) RareEvents(random *rand.Rand, node int) (list []sut.Rare) {
	var kinds []int
	for kind, points := range k.Rare[node] {
		if points > 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 || random.IntN(3) == 0 { // without any, a seed gives the same walk as ever
		return nil
	}
	// One kind is there in any case, so that none of them is rare where there are many.
	first := kinds[random.IntN(len(kinds))]
	for _, kind := range kinds {
		if kind != first && random.IntN(2) == 0 {
			continue
		}
		// An execution with many faults seldom gets far.
		for range 1 << random.IntN(3) {
			list = append(list, sut.Rare{Kind: sut.RareKind(kind), At: 1 + random.IntN(k.Rare[node][kind])})
		}
	}
	return list
}

// Cut is a partition that is still to come: after so many events of all nodes. So it is more likely
// where much happens than where nodes only wait. It lasts for so many advances of the clock.
type Cut struct {
	Links          [][2]int
	Events, Length int
}

// Cuts chooses when the network is parted, up to so many times: at events that walks have come to,
// and for times that may be short or long. Links are those that may be parted together.
func (k *Known) Cuts(random *rand.Rand, links [][][2]int, limit int) (list []*Cut) {
	if len(links) == 0 || random.IntN(4) == 0 {
		return nil
	}
	cuts := 1
	if limit > 1 { // else a seed gives the same walk as ever
		cuts += random.IntN(limit)
	}
	for range cuts {
		list = append(list, &Cut{links[random.IntN(len(links))], random.IntN(k.Events + 1),
			1 + random.IntN(1+random.IntN(k.Ticks+1))})
	}
	slices.SortStableFunc(list, func(a, b *Cut) int { return a.Events - b.Events })
	return list
}

// Spells chooses when connections are slow, up to so many times.
func (k *Known) Spells(random *rand.Rand, limit int) (list []slow.Spell) {
	if limit == 0 {
		return nil // a seed gives the same walk as without
	}
	for range random.IntN(limit + 1) {
		list = append(list, slow.Spell{Events: random.IntN(k.Events + 1),
			Length: 1 + random.IntN(1+random.IntN(k.Ticks+1))})
	}
	return list
}

// Weather chooses what becomes of datagrams, up to so many times, by the kinds of faults. Few
// faults are better than many: what is sent again is found to be there.
func (k *Known) Weather(random *rand.Rand, kinds []string, limit int) *datagram.Weather {
	var list []datagram.Fault
	if limit == 0 || len(kinds) == 0 {
		return datagram.NewWeather(nil) // a seed gives the same walk as without
	}
	for range random.IntN(limit + 1) {
		list = append(list, datagram.Fault{Number: 1 + random.IntN(max(k.Datagrams, 1)),
			Fate: datagram.Kinds[kinds[random.IntN(len(kinds))]]})
	}
	return datagram.NewWeather(list)
}

// Crash is when a node crashes in a walk: right before one of its inputs, by its number among all
// of them, or among those that are about its disk. Between two inputs a program does nothing that
// others can notice, or that is left on its disk.
type Crash struct {
	At     int
	IsDisk bool
	Down   int // how often the clock advances before it runs again
}

// Crashes chooses when a node crashes, up to so many times: at inputs of those that walks have come
// to. Half of the time it is one that is about its disk, of which there are fewer, since more
// depends on these.
func (k *Known) Crashes(random *rand.Rand, node, limit int) (list []Crash) {
	// Few crashes are better than many: each one takes the program back to its beginning.
	for range random.IntN(limit + 1) {
		c := Crash{At: random.IntN(k.Inputs[node] + 1), Down: random.IntN(1 + random.IntN(k.Ticks+1))}
		if n := k.Disks[node]; n > 0 && random.IntN(2) == 0 {
			c.IsDisk, c.At = true, 1+random.IntN(n)
		}
		list = append(list, c)
	}
	return list
}

// Pause is when a node is paused in a walk: where it waits for the first time after so many events
// of all nodes, and for so many advances of the clock.
type Pause struct{ Events, Length int }

// Pauses chooses when a node is paused, up to so many times.
func (k *Known) Pauses(random *rand.Rand, limit int) (list []Pause) {
	for range random.IntN(limit + 1) {
		list = append(list, Pause{random.IntN(k.Events + 1), 1 + random.IntN(1+random.IntN(k.Ticks+1))})
	}
	return list
}

// Due is the first of some crashes that is right before an input of a node, of which it is that
// number. If it is about the disk, it is also one of these. -1: none is.
func Due(list []Crash, input, disks int, isDisk bool) int {
	return slices.IndexFunc(list, func(c Crash) bool {
		return !c.IsDisk && c.At == input || c.IsDisk && isDisk && c.At == disks
	})
}
