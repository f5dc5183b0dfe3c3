package driver

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/model"
)

// Recorded are peers that answer as they did when an execution was first run. They are used for
// self-checks and counterexamples, which must not depend on live processes. One execution uses one
// of them, in one goroutine.
type Recorded struct {
	exchanges []Exchange
	given     int // of the exchanges, so far
}

// NewRecorded returns peers that answer as in these exchanges, in their order. Any other input is
// an error.
func NewRecorded(exchanges []Exchange) *Recorded { return &Recorded{exchanges: exchanges} }

// Given is what they have answered so far.
func (p *Recorded) Given() []Exchange { return p.exchanges[:p.given] }

// Exchange implements sut.Peers. Data is compared byte by byte. The number of a connection does not
// count when it is opened, since the input names the address.
func (p *Recorded) Exchange(in model.Input) (model.Answer, error) {
	if p.given == len(p.exchanges) {
		return model.Answer{},
			fmt.Errorf("the program made more than the %d recorded inputs to its peers", p.given)
	}
	x := &p.exchanges[p.given]
	same := x.Input.Kind == in.Kind && string(x.Input.Data) == string(in.Data) &&
		x.Input.Addr == in.Addr && x.Input.Behaviour == in.Behaviour &&
		(in.Addr != "" || x.Input.Conn == in.Conn) && x.Input.Most == in.Most
	if !same {
		return model.Answer{}, fmt.Errorf("input %d to the peers differs from the one recorded", p.given+1)
	}
	p.given++
	return x.Answer, nil
}
