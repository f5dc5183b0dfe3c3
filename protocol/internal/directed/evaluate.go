package directed

import (
	"fmt"
	"math"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// evaluator computes the estimate of a state. It asks what is known of each local state and each
// message once.
type evaluator struct {
	config  *Config
	reader  *table.Reader
	views   [][]known // by node and local state
	bodies  []known   // by message
	lists   [2][]any  // of one estimate
	classes []uint32
}

// known is a value that was asked for.
type known struct {
	value any
	isSet bool
}

func newEvaluator(c *Config) evaluator {
	return evaluator{config: c, reader: table.NewReader(c.Global.Table),
		views: make([][]known, c.Global.Nodes)}
}

// Estimator is a function that estimates states by what a configuration says: View, Body and
// Estimate. One goroutine may call it.
func Estimator(c Config) func(*system.State) (int, error) {
	e := newEvaluator(&c)
	return func(s *system.State) (int, error) { return e.estimate(s.Locals, s.Messages) }
}

// mostSteps is what a larger estimate counts as. So sums have room for it.
const mostSteps = math.MaxInt32 / 2

// estimate is that of a state.
func (e *evaluator) estimate(locals []table.Local, messages []table.Message) (int, error) {
	// The lists are used again by the next state.
	views, bodies := e.lists[0][:0], e.lists[1][:0]
	for node, l := range locals {
		k := place(&e.views[node], int(l))
		if !k.isSet {
			value, err := e.config.View(node, l)
			if err != nil {
				return 0, err
			}
			*k = known{value, true}
		}
		views = append(views, k.value)
	}
	for _, m := range messages {
		k := place(&e.bodies, int(m))
		if !k.isSet {
			value, err := e.config.Body(m)
			if err != nil {
				return 0, err
			}
			*k = known{value, true}
		}
		bodies = append(bodies, k.value)
	}
	e.lists = [2][]any{views, bodies}
	steps := e.config.Estimate(views, bodies)
	if steps < 0 {
		return 0, fmt.Errorf("the estimate of a state is %d steps: let it be zero or more", steps)
	}
	return min(steps, mostSteps), nil
}

// place is one of a list that grows.
func place(list *[]known, i int) *known {
	for i >= len(*list) {
		*list = append(*list, known{})
	}
	return &(*list)[i]
}

// classesOf are the classes of local states, until the next call.
func (e *evaluator) classesOf(locals []table.Local) []uint32 {
	e.classes = e.classes[:0]
	for node, l := range locals {
		e.classes = append(e.classes, e.reader.State(node, l).Class)
	}
	return e.classes
}
