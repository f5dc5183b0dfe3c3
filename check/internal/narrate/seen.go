package narrate

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Bounds of the source in a counterexample: the lines around a place, and the lines of all files.
const (
	aroundPlace = 40
	maxLines    = 20_000
)

// places are those that steps are at: what a report can show of the source.
type places struct {
	known    map[string][]report.Frame // stacks, by their calls
	files    map[string]*linesOf       // by path
	arrivals map[uint64][]sut.Arrival  // by goroutine, in their order
}

// linesOf are lines of a file that a report shows: those around the ones in at.
type linesOf struct {
	name string // as in places
	at   map[int]bool
}

func newPlaces(log *sut.Log) places {
	p := places{known: map[string][]report.Frame{}, files: map[string]*linesOf{},
		arrivals: map[uint64][]sut.Arrival{}}
	if log.Details != nil {
		for _, a := range log.Details.Arrivals {
			p.arrivals[a.Goroutine] = append(p.arrivals[a.Goroutine], a)
		}
	}
	return p
}

// calls are the calls that are known of the event at an index, innermost first: the operation, and
// what called it. Events of the same place share their stack.
func (p *places) calls(program *sut.Program, e *sut.Event, index int) (stack []report.Frame) {
	pcs := p.around(e, index)
	key := fmt.Sprint(pcs)
	if known, ok := p.known[key]; ok {
		return known
	}
	for i, pc := range pcs {
		at, ok := program.Position(pc)
		if at.Function == "runtime.goexit" || at.Function == "runtime.main" {
			break
		}
		if !ok || i > 0 && pc == e.PC || at.File == generated || strings.Contains(at.File, "/tandem_") {
			continue
		}
		stack = append(stack, report.Frame{Function: at.Function, Source: shortSource(at),
			Own: program.IsOwn(at)})
		p.note(at)
	}
	stack = withoutGo(stack)
	p.known[key] = stack
	return stack
}

// around are the calls of the event at an index, innermost first: all of them if they were noted
// beside the log, and otherwise the operation and the nearest call in an open package.
func (p *places) around(e *sut.Event, index int) []uint64 {
	list := p.arrivals[e.Subject]
	last := sort.Search(len(list), func(i int) bool { return list[i].At > index }) - 1
	if e.Kind != sut.Stepped || e.Operation == sut.Begin || last < 0 {
		return []uint64{e.PC, e.Open}
	}
	stack := list[last].Stack
	// What performs an operation is on the stack if it is not the innermost call.
	if i := slices.Index(stack, e.PC); i >= 0 {
		return stack[i:]
	}
	// A detail for which there was no room says nothing about this event.
	if e.Open != 0 && e.Open != e.PC && !slices.Contains(stack, e.Open) {
		return []uint64{e.PC, e.Open}
	}
	return append([]uint64{e.PC}, stack...)
}

// note notes that something happens at a place.
func (p *places) note(at sut.Position) {
	f := p.files[at.File]
	if f == nil {
		place := shortSource(at)
		f = &linesOf{name: place[:strings.LastIndex(place, ":")], at: map[int]bool{}}
		p.files[at.File] = f
	}
	f.at[at.Line] = true
}

// parts reads the source around the places, file by file. Files that cannot be read are left out.
func (p *places) parts() (list []report.SourcePart) {
	room := maxLines
	for _, path := range slices.SortedFunc(maps.Keys(p.files), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(p.files[b].at), len(p.files[a].at)), cmp.Compare(a, b))
	}) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, part := range p.files[path].parts(strings.Split(string(text), "\n")) {
			if room -= len(part.Lines); room < 0 {
				return list
			}
			list = append(list, part)
		}
	}
	return list
}

// parts are the lines around those in at. Those that meet are one part.
func (f *linesOf) parts(lines []string) (list []report.SourcePart) {
	end := 0 // of the last part
	for _, at := range slices.Sorted(maps.Keys(f.at)) {
		if at > len(lines) {
			break // the file has changed
		}
		first, last := max(at-aroundPlace, end+1, 1), min(at+aroundPlace, len(lines))
		if end == 0 || first > end+1 {
			list = append(list, report.SourcePart{File: f.name, First: first})
		}
		if first <= last {
			part := &list[len(list)-1]
			part.Lines = append(part.Lines, lines[first-1:last]...)
		}
		end = max(end, last)
	}
	return list
}
