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
	"github.com/tandem-mc/tandem/protocol/internal/meter"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// errNotInFiles is of states in files where the reduction has to know at once which states are new.
var errNotInFiles = errors.New("runs of this model may have no end, and then a search that is reduced has " +
	"its states in memory: leave out External, or Reduce")

// mostOrders is how many orders of alike nodes a search by several processes may have.
const mostOrders = 720

// newTexts are texts that are the same in all processes. There are no orders if there are too many.
func newTexts(m *machine, t *table.Table) *apart.Texts {
	n := &apart.Texts{Table: t, Show: m.TypedText, Renamer: likeness{m}}
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
	switch {
	case o.Search != BreadthFirst:
		return nil, errors.New("only a breadth-first search is divided among processes: leave out Search")
	case o.Resume != "":
		return nil, errors.New("a divided search goes on by itself, with the same command: leave out Resume")
	}
	// Another front may have ended it.
	told := shared{}
	data, err := s.EndOf(search)
	if data == nil && err == nil {
		var d *divided
		d, err = newDivided(m, o, b)
		d.Search = search
		if s.IsFront {
			// The others wait for the end of this search, also after an error.
			var r *Result
			if err == nil {
				r, err = d.lead(m, s, b)
			}
			data, fault := json.Marshal(shared{r, fmt.Sprint(err)})
			return r, errors.Join(err, fault, apart.End(s.Transport, search, data))
		} else if err != nil {
			return nil, err
		}
		if disk := d.Config.Global.Disk; disk != nil {
			defer meter.Hold(b.Memory, uint64(disk.Sizes.Table))()
		}
		data, err = apart.Join(d.Config, s)
	}
	if err == nil {
		err = json.Unmarshal(data, &told)
	}
	if err == nil && told.Result == nil {
		err = errors.New(told.Error)
	}
	return told.Result, err
}

// divided is a search that is divided among processes.
type divided struct {
	apart.Config
	reason, whole string // of reduce
}

// newDivided is the search as one of the processes knows it. After an error it has no Config.
func newDivided(m *machine, o Options, b *bounds) (d *divided, err error) {
	s, c := o.session, newSearch(m, o, b)
	d = &divided{}
	if o.Reduce {
		d.reason, d.whole, err = reduce(m, &c, o, b)
	}
	n := newTexts(m, c.Table)
	switch {
	case s.IsFront && err != nil:
		return d, err
	case c.Alike != nil && n.All == nil:
		return d, fmt.Errorf("a divided search has at most %d orders of alike nodes: have fewer", mostOrders)
	case o.External != "" && c.Proviso:
		return d, errNotInFiles
	}
	fault := err
	if d.reason != "" {
		fault = errors.New(d.reason + ", in the local search by which Reduce begins: raise the bound")
	}
	// The one that leads has no states. A part also has what others send, and what it saves.
	if o.External != "" && !s.IsFront {
		if c.Disk, err = newDisk(o, b.Memory/2); err != nil {
			return d, err
		}
	}
	if d.Config, err = s.Config(c, n, (&keeper{machine: m}).description()); err != nil {
		return d, err
	}
	if d.Fault = fault; o.Estimate.of != nil {
		d.Estimate = directed.Estimator(o.Estimate.config(m, c))
	}
	d.Explain = likeness{m}.explainAsymmetry
	return d, nil
}

// lead leads a search. The table here gets all entries of the others, so what the result says of
// local states, messages and handlers is what a search by one process says.
func (d *divided) lead(m *machine, s *apart.Session, b *bounds) (*Result, error) {
	if d.reason != "" {
		return &Result{Reason: d.reason}, nil
	}
	// What fails at the start needs no others.
	found, err := global.FailsAtStart(d.Global)
	if err != nil {
		return nil, err
	} else if found != nil {
		return newResult(m, d.Global, found, d.whole, b.start)
	}
	out, err := apart.Lead(d.Config, s, func(t apart.Totals) string {
		return b.stop(t.Progress())
	})
	if err != nil {
		return nil, err
	}
	found = &global.Result{Progress: out.Progress(), Reached: out.Reached, Reason: out.Reason}
	r, err := newResult(m, d.Global, found, d.whole, b.start)
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
