package directed

import (
	"cmp"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Save implements core.Saveable. What is being executed is still open. The state takes memory in
// proportion to what is open.
func (d *Search) Save(e *codec.Encoder) {
	d.Tally.SaveCounts(e, "directed")
	list := slices.Clone(d.open)
	if d.Waiting && d.current != nil {
		list = append(list, d.current)
	}
	slices.SortFunc(list, func(a, b *branch) int { return cmp.Compare(a.number, b.number) })
	e.Number(d.born)
	e.Count(d.taken)
	e.Count(d.givenUp)
	numbers, sleepers := saveWays(e, list), saveSleepers(e, list)
	e.Number(uint64(len(list)))
	var last []*core.Sleeper
	for _, b := range list {
		e.Count(numbers[b.way])
		e.Count(b.at)
		core.EncodeAction(e, b.next)
		same := len(b.inherited) == len(last) && (len(last) == 0 || &b.inherited[0] == &last[0])
		if e.Truth(same); !same {
			sleepers.save(e, b.inherited)
		}
		last = b.inherited
		sleepers.save(e, b.done)
		core.EncodeActions(e, b.ran)
		e.Truth(b.idle)
		e.Signed(b.estimate)
		e.Count(int(b.blocked))
		e.Count(int(b.held))
		e.Truth(b.guided)
		e.Number(b.number)
	}
}

// sleeperNumbers says where sleepers are in the list of all: many branches have the same ones.
type sleeperNumbers map[*core.Sleeper]int

// saveSleepers writes all that is asleep somewhere, once.
func saveSleepers(e *codec.Encoder, list []*branch) sleeperNumbers {
	numbers := sleeperNumbers{}
	var all []*core.Sleeper
	for _, b := range list {
		for _, s := range b.asleep() {
			if _, known := numbers[s]; !known {
				numbers[s], all = len(all), append(all, s)
			}
		}
	}
	core.EncodeSleepers(e, all)
	return numbers
}

// save writes a list of sleepers as numbers.
func (n sleeperNumbers) save(e *codec.Encoder, list []*core.Sleeper) {
	e.Number(uint64(len(list)))
	for _, s := range list {
		e.Count(n[s])
	}
}

// resumeSleepers reads a list of numbers of sleepers.
func resumeSleepers(from *codec.Decoder, all []*core.Sleeper) []*core.Sleeper {
	var list []*core.Sleeper
	for range from.Length() {
		n := from.Count(core.MaxCount)
		if n >= len(all) {
			from.Fail("it is damaged: sleeper %d of %d is named", n, len(all))
			return nil
		}
		list = append(list, all[n])
	}
	return list
}

// saveWays writes the ways that branches leave, each after the one that it leaves itself. It
// returns their numbers.
func saveWays(e *codec.Encoder, list []*branch) map[*way]int {
	numbers := map[*way]int{}
	var ways []*way
	for _, b := range list {
		from := len(ways)
		for w := b.way; w != nil; w = w.from {
			if _, known := numbers[w]; known {
				break
			}
			numbers[w], ways = 0, append(ways, w)
		}
		slices.Reverse(ways[from:])
		for i := from; i < len(ways); i++ {
			numbers[ways[i]] = i
		}
	}
	e.Number(uint64(len(ways)))
	for _, w := range ways {
		if e.Truth(w.from != nil); w.from != nil {
			e.Count(numbers[w.from])
			e.Count(w.begins)
		}
		core.EncodeActions(e, w.actions)
	}
	return numbers
}

// Resume implements core.Saveable.
func (d *Search) Resume(from *codec.Decoder) {
	d.Tally.ResumeCounts(from, "directed")
	d.begun = d.Counts.Executions > 0
	d.born, d.taken = from.Number(), from.Count(core.MaxCount)
	d.givenUp = from.Count(core.MaxCount)
	ways := resumeWays(from)
	sleepers := core.DecodeSleepers(from)
	var last []*core.Sleeper
	for range from.Length() {
		b := resumeBranch(from, ways)
		if b == nil {
			return
		}
		if !from.Truth() {
			last = resumeSleepers(from, sleepers)
		}
		b.inherited, b.done = last, resumeSleepers(from, sleepers)
		b.ran, b.idle = core.DecodeActions(from), from.Truth()
		b.estimate = from.Signed(math.MaxInt64)
		b.blocked, b.held = int32(from.Count(math.MaxInt32)), int32(from.Count(math.MaxInt32))
		b.guided, b.number = from.Truth(), from.Number()
		d.open = push(d.open, b, before)
	}
}

// resumeBranch reads which alternative a branch is; nil if there is no such one.
func resumeBranch(from *codec.Decoder, ways []*way) *branch {
	n, at := from.Count(core.MaxCount), from.Count(core.MaxTransitions)
	if n >= len(ways) {
		from.Fail("it is damaged: a branch leaves way %d of %d", n, len(ways))
		return nil
	}
	w := ways[n]
	if at < w.begins || at >= w.begins+len(w.actions) {
		from.Fail("it is damaged: a branch leaves a way of %d actions at %d", len(w.actions), at)
		return nil
	}
	return &branch{way: w, at: at, next: core.DecodeAction(from)}
}

// resumeWays reads what saveWays wrote. A damaged list could name a way that begins outside of the
// one that it leaves, and then a path could not be put together.
func resumeWays(from *codec.Decoder) (ways []*way) {
	for range from.Length() {
		w := &way{}
		if from.Truth() {
			n := from.Count(core.MaxCount)
			if n >= len(ways) {
				from.Fail("it is damaged: way %d leaves way %d", len(ways), n)
				return nil
			}
			w.from, w.begins = ways[n], from.Count(core.MaxTransitions)
			if w.begins < w.from.begins || w.begins >= w.from.begins+len(w.from.actions) {
				from.Fail("it is damaged: a way begins at %d of another, which it does not have", w.begins)
				return nil
			}
		}
		w.actions = core.DecodeActions(from)
		ways = append(ways, w)
	}
	return ways
}
