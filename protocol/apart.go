package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
	"github.com/tandem-mc/tandem/protocol/internal/apart"
	"github.com/tandem-mc/tandem/protocol/internal/directed"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// errNotApart is of searches that several processes cannot do together.
var errNotApart = errors.New("only a breadth-first search that is not reduced is divided among processes, " +
	"and with up to 720 orders of alike nodes: leave out Search, Reduce and Resume, or alike nodes")

// mostOrders is how many orders of alike nodes a search by several processes may have.
const mostOrders = 720

// newTexts are texts that are the same in all processes. There are no orders if there are too many.
func newTexts(m *machine, t *table.Table) *apart.Texts {
	n := &apart.Texts{Table: t, Show: m.show, Renamer: likeness{m}}
	n.Fields = func(node int, image []byte) (string, error) {
		fields, err := m.fieldsOf(node, image)
		return fmt.Sprint(fields), err
	}
	if c := (likeness{m}).alikeConfig(t); c != nil {
		n.All = alike.Orders(c.Sets, len(m.model.Nodes), mostOrders)
	}
	return n
}

// shared is what the front tells all parts in the end, so that each returns the same.
type shared struct {
	Result *Result // nil after an error
	Error  string
}

// checkApart is Check in one of several processes that search together. The one that leads has the
// bounds, tells how far the search is, and finds the run to a violation. The others have a bound on
// their memory only. They return what it returns, so all of them come to the next search together.
func checkApart(m *machine, o Options, start time.Time) (*Result, error) {
	s := o.session
	search := s.Next()
	limits := o
	if !s.IsFront {
		limits.States, limits.Time, limits.Output, limits.log, limits.Progress = 0, 0, nil, nil, nil
	}
	b := newBounds(limits, start)
	defer b.teller.Close()
	c := newSearch(m, o, b)
	n := newTexts(m, c.Table)
	if o.Search != BreadthFirst || o.Reduce || c.Alike != nil && n.All == nil || o.Resume != "" {
		return nil, errNotApart
	}
	// The one that leads has no states. A part also has what others send, and what it saves.
	if o.External != "" && !s.IsFront {
		var err error
		if c.Disk, err = newDisk(o, b.Memory/2); err != nil {
			return nil, err
		}
	}
	config := s.Config(c, n, search, (&keeper{machine: m}).description())
	if o.Estimate.of != nil {
		config.Estimate = directed.Estimator(o.Estimate.config(m, c))
	}
	config.Explain = likeness{m}.explainAsymmetry
	// Another front may have ended it.
	told := shared{}
	data, err := s.EndOf(search)
	switch {
	case s.IsFront && data == nil && err == nil:
		r, err := leadApart(m, config, s, b)
		data, fault := json.Marshal(shared{r, fmt.Sprint(err)})
		return r, errors.Join(err, fault, apart.End(s.Transport, search, data))
	case data == nil && err == nil:
		data, err = apart.Join(config, s)
	}
	if err == nil {
		err = json.Unmarshal(data, &told)
	}
	if err == nil && told.Result == nil {
		err = errors.New(told.Error)
	}
	return told.Result, err
}

// leadApart leads a search. The table here gets all entries of the others, so what the result says
// of local states, messages and handlers is what a search by one process says.
func leadApart(m *machine, c apart.Config, s *apart.Session, b *bounds) (*Result, error) {
	// What fails at the start needs no others.
	found, err := global.FailsAtStart(c.Global)
	if err != nil {
		return nil, err
	} else if found != nil {
		return newResult(m, c.Global, found, "", b.start)
	}
	out, err := apart.Lead(c, s, func(t apart.Totals) string {
		return b.stop(t.Progress())
	})
	if err != nil {
		return nil, err
	}
	found = &global.Result{Progress: out.Progress(), Reached: out.Reached, Reason: out.Reason}
	r, err := newResult(m, c.Global, found, "", b.start)
	if err == nil && out.Digests != nil {
		if r.Violation, err = alongDigests(m, out); err == nil {
			r.conclude()
		}
	}
	if err == nil {
		r.Shares = out.String()
	}
	return r, err
}

// alongDigests finds the run to a violation. It has a table of its own, so nothing depends on what
// others have met first.
func alongDigests(m *machine, out *apart.Outcome) (*Violation, error) {
	c := newConfig(m)
	w, path := newWalker(m, c), apart.NewPath(apart.Config{Global: c, Names: newTexts(m, c.Table)}, out)
	var parts []string
	pick := func(choices []choice) (int, error) {
		return w.add(&parts, choices, func(x choice) bool {
			failure := ""
			if x.step.Outcome != nil {
				failure = x.step.Outcome.Failure
			}
			return path.IsNext(x.state, failure)
		})
	}
	err := w.start(pick)
	for err == nil && path.Advance() {
		err = w.step(pick)
	}
	if err != nil {
		return nil, err
	}
	return replay(m.model, strings.Join(parts, "."))
}
