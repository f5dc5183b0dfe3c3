package narrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/sut"
)

// LastPlace is where in the program its last operations are. Of one in the standard library it is
// the call of that. It searches from the end. Accesses and steps have a place; other events do not.
func LastPlace(p *sut.Program, events []sut.Event) (sut.Position, bool) {
	for i := range slices.Backward(events) {
		e := &events[i]
		if e.Kind != sut.Stepped && e.Kind != sut.Accessed {
			continue
		}
		if at, ok := programPlace(p, e); ok {
			return at, true
		}
	}
	return sut.Position{}, false
}

// programPlace is where an operation is in the program or in a module that it uses, but not in the
// standard library; false if it is called from there alone. Open is the place of the call in the
// program, if the operation itself is elsewhere.
func programPlace(p *sut.Program, e *sut.Event) (sut.Position, bool) {
	at, ok := p.Position(e.PC)
	if ok && (p.IsOwn(at) || p.Module(at) != "") {
		return at, true
	}
	return p.Position(e.Open)
}

// Innermost is the first call on a stack in the program's own code, or the first of all. Code of
// the standard library at the top of the stack, such as a failed index, is passed over.
func Innermost(p *sut.Program, stack []uint64) (sut.Position, bool) {
	list := innermost(p, stack)
	if len(list) == 0 {
		return sut.Position{}, false
	}
	return list[0].Position, true
}

// Unjudged says where the goroutines are of which it is not known whether they go on some time.
func Unjudged(p *sut.Program, log *sut.Log) (list []string) {
	for i := range log.Events {
		if e := &log.Events[i]; e.Unjudged() {
			at, _ := p.Position(cmp.Or(e.Open, e.PC))
			list = append(list, fmt.Sprintf("%s at %s", at.Name(), shortSource(at)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
