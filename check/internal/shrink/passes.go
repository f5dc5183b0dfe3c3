package shrink

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// The ways in which the shrinker changes a schedule. Each is a pass over the best execution so far,
// and reports whether it has found a better one.

// serialize lets goroutines that were preempted go on at once with what they did later, up to where
// they stop for another reason. It tries ranges of preemptions first, and then single ones.
func (s *Shrinker) serialize() bool {
	return s.parts(func() int { return s.Cost[0] }, func(from, to int) []model.Action {
		return s.choices(goOn(blocksOf(s.best), from, to)...)
	})
}

// goOn puts blocks in the order that they have if their preemptions number from to to-1 do not
// happen. Every block is in the result once.
func goOn(blocks []block, from, to int) []block {
	later := make([]int, len(blocks)) // the next block of the same goroutine; 0: none
	next := map[model.GoroutineID]int{}
	for i, b := range slices.Backward(blocks) {
		later[i] = next[b.goroutine]
		next[b.goroutine] = i
	}
	continues := make([]bool, len(blocks))
	nth := 0
	for i, b := range blocks {
		if b.preempted {
			continues[i] = nth >= from && nth < to && later[i] > 0
			nth++
		}
	}
	var list []block
	used := make([]bool, len(blocks))
	for i := range blocks {
		if used[i] {
			continue
		}
		b := i
		for ; continues[b]; b = later[b] {
			used[b], list = true, append(list, blocks[b])
		}
		used[b], list = true, append(list, blocks[b])
	}
	return list
}

// unpreempt does what else there is against a single preemption. It tries each preemption by
// itself, with several changes.
func (s *Shrinker) unpreempt() (improved bool) {
	for i := 0; !s.done(); i++ {
		blocks := blocksOf(s.best)
		if i >= len(blocks) {
			break
		}
		if blocks[i].preempted && slices.ContainsFunc(s.withoutPreemption(blocks, i), s.try) {
			improved = true
			i-- // there may be another one now
		}
	}
	return improved
}

// withoutPreemption lists schedules in which block i perhaps does not end with a preemption. blocks
// are those of the best execution; they are not changed.
func (s *Shrinker) withoutPreemption(blocks []block, i int) [][]model.Action {
	before, rest := blocks[:i+1], blocks[i+1:]
	onward := func(goroutine model.GoroutineID) []model.Action {
		return []model.Action{{Goroutine: goroutine, Choice: sut.GoOn}}
	}
	list := [][]model.Action{
		s.choices(before...), // it goes on, as by default
		slices.Concat(s.choices(before...), onward(blocks[i].goroutine), s.choices(rest...)),
	}
	if len(rest) > 0 { // who preempts it goes on
		list = append(list, s.choices(blocks[:i+2]...),
			slices.Concat(s.choices(before...), onward(rest[0].goroutine), s.choices(rest...)))
	}
	again := slices.IndexFunc(rest, func(b block) bool { return b.goroutine == blocks[i].goroutine })
	if again >= 0 { // it waits, or what happens in between does not
		list = append(list,
			s.choices(slices.Concat(blocks[:i], rest[:again], blocks[i:i+1], rest[again:])...),
			s.choices(slices.Concat(before, rest[again:])...))
	}
	return list
}

// cutOff leaves the end of an execution to itself: without a schedule, a goroutine goes on while it
// can. The size of the end is halved whenever cutting does not help.
func (s *Shrinker) cutOff() (improved bool) {
	for size := len(blocksOf(s.best)) - 1; size > 0 && !s.done(); {
		blocks := blocksOf(s.best)
		if size < len(blocks) && s.try(s.choices(blocks[:len(blocks)-size]...)) {
			improved = true
		} else {
			size /= 2
		}
	}
	return improved
}

// leaveOut leaves out what goroutines do: first all of it, then parts. What has to be done all the
// same is, when nothing else can.
func (s *Shrinker) leaveOut() bool {
	improved := false
	for _, g := range goroutinesOf(s.best) {
		others := slices.DeleteFunc(blocksOf(s.best), func(b block) bool { return b.goroutine == g })
		improved = s.try(s.choices(others...)) || improved
	}
	return s.parts(func() int { return len(blocksOf(s.best)) }, func(from, to int) []model.Action {
		return s.choices(slices.Delete(blocksOf(s.best), from, to)...)
	}) || improved
}

// goroutinesOf are the goroutines in the order of their first step.
func goroutinesOf(steps []translate.Step) (list []model.GoroutineID) {
	for _, x := range steps {
		if !slices.Contains(list, x.Goroutine) {
			list = append(list, x.Goroutine)
		}
	}
	return list
}

// cutTails has goroutines stop earlier. Only the ends of blocks are cut, with sizes that are
// halved.
func (s *Shrinker) cutTails() (improved bool) {
	for i := 0; !s.done(); i++ {
		blocks := blocksOf(s.best)
		if i >= len(blocks) {
			break
		}
		for size := (blocks[i].to - blocks[i].from) / 2; size > 0 && !s.done(); {
			shorter := slices.Clone(blocks)
			shorter[i].to -= size
			if shorter[i].to <= shorter[i].from || !s.try(s.choices(shorter...)) {
				size /= 2
				continue
			}
			improved = true
			if blocks = blocksOf(s.best); i >= len(blocks) {
				break
			}
		}
	}
	return improved
}

// fewAlternatives are tried one by one.
const fewAlternatives = 8

// choose takes other alternatives of operations that have several: the earliest that will do, which
// of many it looks for by halves, or a later one if that is worth it.
func (s *Shrinker) choose() (improved bool) {
	for i := 0; i < len(s.best) && !s.done(); i++ {
		for low := 0; i < len(s.best) && low < s.best[i].Choice && !s.done(); {
			value := low
			if taken := s.best[i].Choice; taken-low > fewAlternatives && low > 0 {
				value = (low + taken) / 2
			}
			if s.try(s.choosing(i, value)) {
				improved = true
			} else {
				low = value + 1
			}
		}
		for value := 1; i < len(s.best) && value < min(s.best[i].Choices, fewAlternatives); value++ {
			if value > s.best[i].Choice && s.try(s.choosing(i, value)) {
				improved = true
			}
		}
	}
	return improved
}

// choosing is the best schedule with another alternative in transition i. The schedule is a copy.
func (s *Shrinker) choosing(i, alternative int) []model.Action {
	candidate := s.choices(block{from: 0, to: len(s.best)})
	candidate[i].Choice = alternative
	return candidate
}

// join puts blocks of a goroutine together: the later one moves up, or the earlier one down. The
// cost falls by one switch if the violation stays.
func (s *Shrinker) join() (improved bool) {
	for i := 0; !s.done(); i++ {
		blocks := blocksOf(s.best)
		if i >= len(blocks) {
			break
		}
		rest := blocks[i+1:]
		again := slices.IndexFunc(rest, func(b block) bool { return b.goroutine == blocks[i].goroutine })
		if again < 0 {
			continue
		}
		up := slices.Concat(blocks[:i+1], rest[again:again+1], rest[:again], rest[again+1:])
		down := slices.Concat(blocks[:i], rest[:again], blocks[i:i+1], rest[again:])
		if s.try(s.choices(up...)) || s.try(s.choices(down...)) {
			improved = true
			i--
		}
	}
	return improved
}
