package narrate

import (
	"cmp"
	"maps"
	"os"
	"slices"
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
	known map[[2]uint64]callsAt
	files map[string]*linesOf // by path
}

// callsAt are the calls that are known of a step, and the library that it is in.
type callsAt struct {
	stack   []report.Frame
	library string
}

// linesOf are lines of a file that a report shows: those around the ones in at.
type linesOf struct {
	name string // as in places
	at   map[int]bool
}

func newPlaces() places {
	return places{known: map[[2]uint64]callsAt{}, files: map[string]*linesOf{}}
}

// calls are the calls that are known of an event, innermost first: the operation, and the user's
// own call around it. The library is the package of the operation, if that is not the user's.
// Events of the same place share their stack.
func (p *places) calls(program *sut.Program, e *sut.Event) (stack []report.Frame, library string) {
	key := [2]uint64{e.PC, e.Open}
	if c, ok := p.known[key]; ok {
		return c.stack, c.library
	}
	for i, pc := range []uint64{e.PC, e.Open} {
		at, ok := program.Position(pc)
		if !ok || i > 0 && pc == e.PC || strings.Contains(at.File, "/tandem_") {
			continue
		}
		if i == 0 && !program.IsOwn(at) {
			library = packageOf(at.Function)
		}
		stack = append(stack, report.Frame{Function: at.Function, Source: shortSource(at)})
		p.note(at)
	}
	p.known[key] = callsAt{stack, library}
	return stack, library
}

// packageOf is the package in the name of a function.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
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
