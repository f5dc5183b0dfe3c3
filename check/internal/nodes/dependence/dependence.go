// Package dependence finds out which steps of an execution depend on which.
//
// A step comes after those of its goroutine, after what has started or woken that, and after those
// that have accessed the same before, unless both only read it or add to it.
package dependence

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

// Step is what a goroutine does from one point to the next, or a part of that. Without Stepped it
// is an advance of the clock, which is of no goroutine.
type Step struct {
	Goroutine uint64
	Stepped   bool
	Starts    []uint64 // goroutines that it has started or woken
}

// Dependence finds what each step comes right after.
type Dependence struct {
	last    map[uint64]int   // step of each goroutine
	wakers  map[uint64][]int // since that
	objects map[model.ObjectID]*uses
	barrier int   // the last one; -1: there is none
	since   []int // steps since then, and the barrier
}

// uses are the accesses to an object that the next one may depend on.
type uses struct {
	write          int // -1: there is none
	reads, commute []int
}

// New is before the first step. Steps are numbered from 0 on, as they are added, and all of one
// execution are added to one Dependence.
func New() *Dependence {
	return &Dependence{last: map[uint64]int{}, wakers: map[uint64][]int{},
		objects: map[model.ObjectID]*uses{}, barrier: -1}
}

// Add adds step i, with what it accesses, and lists those that it depends on. At a barrier these
// are all before it, and it comes before all that are added later.
//
// What is listed has all that the step depends on before it: a step that others of these come after
// may be left out. An access to object 0 is none.
func (d *Dependence) Add(i int, t Step, barrier bool, accesses []model.Access) (before []int) {
	if barrier {
		before = d.since
		d.barrier, d.since = i, nil
	} else {
		if d.barrier >= 0 {
			before = append(before, d.barrier)
		}
		if last, ok := d.last[t.Goroutine]; ok && t.Stepped {
			before = append(before, last)
		}
		before = append(before, d.wakers[t.Goroutine]...)
		before = d.access(i, accesses, before)
	}
	d.since = append(d.since, i)
	if t.Stepped {
		d.last[t.Goroutine], d.wakers[t.Goroutine] = i, nil
	}
	for _, g := range t.Starts {
		d.wakers[g] = append(d.wakers[g], i)
	}
	if barrier { // what accesses the same later comes after it anyway
		clear(d.objects)
	}
	slices.Sort(before)
	return slices.Compact(before)
}

// access adds the accesses of a step, and appends what these depend on.
func (d *Dependence) access(i int, accesses []model.Access, before []int) []int {
	for _, a := range accesses {
		if a.Object == 0 {
			continue
		}
		u := d.objects[a.Object]
		if u == nil {
			u = &uses{write: -1}
			d.objects[a.Object] = u
		}
		add := func(list ...int) {
			for _, k := range list {
				if k >= 0 && k != i {
					before = append(before, k)
				}
			}
		}
		add(u.write)
		if a.Kind != model.Read {
			add(u.reads...)
		}
		if a.Kind != model.Commute {
			add(u.commute...)
		}
		switch a.Kind {
		case model.Read:
			u.reads = append(u.reads, i)
		case model.Commute:
			u.commute = append(u.commute, i)
		default:
			*u = uses{write: i}
		}
	}
	return before
}

// Mix is the finalizer of MurmurHash3.
func Mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
