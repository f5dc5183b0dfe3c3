package protocol

import (
	"errors"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/directed"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Estimate is a heuristic: about how many steps a state is from a violation. It is admissible if it
// is never more than the steps of a shortest run from there to any violation.
//
// An estimate of zero is admissible, and makes A* a breadth-first search. The nearer it comes to
// the right number, the fewer states are visited. A good one counts what has to be done by any run,
// such as how many processes are still to be blocked, where a step does one of these things at
// most.
type Estimate struct {
	view func(id ID, node Node) any
	of   func(views []any, messages []Message) int
}

// NewEstimate makes an estimate of a view, as properties have it: what of a node it depends on. A
// view is asked once for each local state. Messages are those that are under way, equal ones as
// often as they are. Steps keeps and changes nothing of what it gets. It returns zero or more, and
// the same for the same state.
func NewEstimate[V any](view func(id ID, node Node) V,
	steps func(views []V, messages []Message) int) Estimate {
	return Estimate{
		view: func(id ID, node Node) any { return view(id, node) },
		of: func(views []any, messages []Message) int {
			typed := make([]V, len(views))
			for i, v := range views {
				typed[i], _ = v.(V) // a nil interface stays nil
			}
			return steps(typed, messages)
		},
	}
}

// errNotDirected is of searches that cannot follow an estimate.
var errNotDirected = errors.New("a directed search needs Options.Estimate, and knows neither Reduce nor " +
	"alike nodes: give the one, or leave out the others")

// idaShare is the part of the memory in which an IDA* search remembers states.
const idaShare = 3

// checkDirected is Check with one of the directed searches.
func checkDirected(m *machine, o Options, start time.Time) (*Result, error) {
	if o.Estimate.of == nil || o.Reduce || len(m.exchanges) > 0 {
		return nil, errNotDirected
	}
	b := newBounds(o, start)
	defer b.teller.Close()
	c := newSearch(m, o, b)
	d := o.Estimate.config(m, c)
	d.Algorithm, d.Room = directed.Algorithm(o.Search-BestFirst), int64(b.Memory/idaShare)
	found, err := directed.Search(d)
	if err != nil {
		return nil, err
	}
	return newResult(m, c, found, "", start)
}

// config has states be estimated, one after the other.
func (e Estimate) config(m *machine, c global.Config) directed.Config {
	var messages []Message
	return directed.Config{
		Global: c,
		View: func(node int, l table.Local) (any, error) {
			here, err := m.decode(node, c.Table.State(node, l).Image)
			if err != nil {
				return nil, err
			}
			return e.view(ID(node), here.node), nil
		},
		Body: func(number table.Message) (any, error) {
			set, err := m.messages(table.Call{Messages: []table.Sent{c.Table.Message(number)}})
			if err != nil {
				return nil, err
			}
			return set[0], nil
		},
		Estimate: func(views, bodies []any) int {
			messages = messages[:0]
			for _, x := range bodies {
				messages = append(messages, x.(Message))
			}
			return e.of(views, messages)
		},
	}
}
