// Package naming has executions end at states that the program has named before (tandem.State),
// where that is sound, and says in the words of reports what a verdict then rests on.
//
// With peers it is not: what follows depends on their state, too. That is a position in the I/O
// cache, which never comes again, so nothing would be gained by having it in the key. Which
// searches can do it is for package explore to say.
package naming

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// function is what names a state. The linker leaves it out where nobody calls it.
const function = "github.com/tandem-mc/tandem.State"

// Use has a search end executions at known states, if the program names some and nothing speaks
// against it. Whether an execution ends at a state depends on those before it, so there is one
// worker then. The notes say what a user would not expect.
func Use(s *explore.Search, p *sut.Program, peers bool, workers *int) (notes []string) {
	switch {
	case !p.Has(function):
		return nil
	case peers:
		return []string{without + "the state of the peers is not known"}
	case !s.CanNameStates():
		return []string{without + "that takes --search auto, dpor or dfs, without --preemptions and --delays"}
	}
	s.NameStates()
	if *workers > 1 {
		*workers = 1
		return []string{"tandem.State: one worker, since an execution ends at states that those before it " +
			"have named"}
	}
	return nil
}

// A user who has a reason to name states wants to know that it has no effect.
const without = "tandem.State: no execution ends at a known state: "

// WithNodes is a note on one of several programs that are checked together; empty: it names no
// state. What follows a state of one depends on those of the others.
func WithNodes(p *sut.Program) string {
	if !p.Has(function) {
		return ""
	}
	return without + "a node knows only its own"
}

// Explain says, a line each, where in the program the promise is broken, if it is. The reason of
// the verdict is one line of a report, and has no room for it.
func Explain(v explore.Verdict, p *sut.Program) []string {
	b := v.States.Broken
	if b == nil {
		return nil
	}
	where := "" // what names the state is most often called from one place
	if at, ok := p.Position(b.PC); ok {
		where = fmt.Sprintf(" at %v", at)
	}
	return []string{
		fmt.Sprintf("tandem.State%s: x does not have all that what follows depends on", where),
		fmt.Sprintf("tandem.State: %v", b),
	}
}

// Assumed is what a verdict rests on, a line each. It is empty where no execution has ended at a
// known state: then every execution was run to its end, and nothing was assumed. That a promise was
// tested is said with it, since that is all that is known of it.
func Assumed(v explore.Verdict, races bool) (lines []string) {
	n := v.States
	if n.Ended == 0 {
		return nil
	}
	line := fmt.Sprintf("tandem.State names all that what follows depends on: %s ended at one of %s",
		textutil.CountOf(n.Ended, "execution"), textutil.CountOf(n.Known, "known state"))
	switch {
	case n.Broken != nil:
		line += ", and the promise is broken"
	case n.Tested > 0:
		line += fmt.Sprintf("; %s of them went on, as a test", textutil.Count(n.Tested))
	}
	lines = append(lines, line)
	// What the detector knows of earlier accesses is no part of a state: it only grows.
	if races {
		lines = append(lines, "data races between what precedes a known state and what follows it are seen "+
			"only where an execution went on from there")
	}
	if n.Full {
		lines = append(lines, fmt.Sprintf("tandem.State: there was room for %s, and later ones count as "+
			"new; the promise was not tested to the end", textutil.CountOf(explore.MaxStates, "state")))
	}
	return lines
}

// Line is what is said of a test, on one line: something else, and what its verdict rests on.
func Line(other string, v explore.Verdict, p *sut.Program) string {
	lines := slices.Concat([]string{other}, Explain(v, p), Assumed(v, len(p.Races) > 0))
	if other == "" {
		lines = lines[1:]
	}
	return strings.Join(lines, "; ")
}
