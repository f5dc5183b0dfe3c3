// Package properties says what has to be so of what nodes publish, and finds where it is not.
package properties

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/agreed"
	"github.com/tandem-mc/tandem/check/internal/nodes/cuts"
	"github.com/tandem-mc/tandem/check/internal/nodes/exclusive"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// Wanted is what has to be so.
type Wanted struct {
	// Agree are the names on which all nodes are to agree that publish them.
	Agree published.Names
	// Exclusive are those that one node holds at a time.
	Exclusive published.Names
}

// Any says whether there is anything to judge.
func (w *Wanted) Any() bool { return len(w.Agree)+len(w.Exclusive) > 0 }

// IsExclusive says of a name whether one node holds it at a time; nil: none is one.
func (w *Wanted) IsExclusive() func(name string) bool {
	if len(w.Exclusive) == 0 {
		return nil
	}
	return w.Exclusive.Has
}

// missing counts the patterns of which nobody has published a name.
func (w *Wanted) missing(published []string) int {
	return len(w.Agree.Missing(published)) + len(w.Exclusive.Missing(published))
}

// mostNamed is how many names are told that were published, where others were expected.
const mostNamed = 8

// Add adds names that were published, as long as there is none of their pattern, or there are few.
func (w *Wanted) Add(known, published []string) []string {
	for _, name := range published {
		with := append(known, name)
		few := len(known) <= mostNamed && !slices.Contains(known, name)
		if few || w.missing(with) < w.missing(known) {
			known = with
		}
	}
	return known
}

// Why is what keeps a verdict from being that all is well, beside what is known to do so: that
// nobody has published something that is to be judged. Most likely it has another name.
func (w *Wanted) Why(known string, published []string) (why string) {
	for _, p := range []struct {
		missing []string
		what    string
	}{
		{w.Agree.Missing(published), "on which all are to agree"},
		{w.Exclusive.Missing(published), "which one is to hold at a time"},
	} {
		if len(p.missing) == 0 {
			continue
		}
		if known != "" || why != "" {
			why += "; "
		}
		why += fmt.Sprintf("no node has published %s, %s", strings.Join(p.missing, " or "), p.what)
	}
	if why == "" {
		return ""
	}
	return why + "; published " + named(published)
}

// named says which names were published, or some of them, after the word "published".
func named(published []string) string {
	list := slices.Sorted(slices.Values(published))
	switch n := len(list); {
	case n == 0:
		return "was nothing"
	case n == 1:
		return "was: " + list[0]
	case n <= mostNamed:
		return "were: " + strings.Join(list, ", ")
	}
	return "were: " + strings.Join(list[:mostNamed], ", ") + " and others"
}

// Find looks for what is wrong in what all nodes have done.
func (w *Wanted) Find(net *network.Nodes, g skeleton.Global) (list []*published.Wrong) {
	s := cuts.Of(g)
	if wrong := agreed.Find(net, s, g, w.Agree); wrong != nil {
		list = append(list, wrong)
	}
	return append(list, exclusive.Find(net, s, g, w.Exclusive)...)
}

// Said is what nodes have published so far in an execution. One goroutine uses it at a time.
type Said struct {
	agreed *agreed.Said
	held   *exclusive.Held
}

// Said is that of an execution which has not begun.
func (w *Wanted) Said() *Said { return &Said{agreed.New(w.Agree), exclusive.New(w.Exclusive)} }

// Judge notes what a node publishes at some time, and has the event be wrong if it is.
func (s *Said) Judge(net *network.Nodes, event *skeleton.Event, now time.Duration) {
	if s.agreed.Judge(net, event); network.Did(event).Violates == "" {
		s.held.Judge(net, event, now)
	}
}

// Gone notes that a node has crashed, or ended.
func (s *Said) Gone(node int) { s.held.Gone(node) }
