// Package crew has real peers for each crew that runs several programs.
package crew

import (
	"errors"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/peers"
)

// Peers are those of all crews. Each crew has a group of its own, with a cache of its own. So no
// crew waits for another one, and what one has asked the peers is nothing to others.
type Peers struct {
	// Driver makes the driver of a crew, which has no processes before it is asked something.
	Driver func() *driver.Driver
	crews  []*answers
}

// answers implements beside.Answers.
type answers struct {
	*driver.Session
	driver *driver.Driver
	counts driver.Counts
}

// Begin implements beside.Answers. The group goes back when it is asked something.
func (a *answers) Begin() error {
	a.Rewind()
	return a.driver.Alive()
}

// Beside says which peers there are beside nodes. They have been validated.
func (p *Peers) Beside(group *peers.Group) *beside.Group {
	g := &beside.Group{Behaviours: group.Behaviours()}
	for _, one := range group.Peers {
		addresses, _ := one.Addresses()
		g.Peers = append(g.Peers, beside.Peer{Name: one.Name, Listens: addresses})
	}
	// A driver starts no processes before it is asked something.
	g.New = func() beside.Answers {
		a := &answers{driver: p.Driver()}
		a.Session = a.driver.NewSession(&a.counts)
		p.crews = append(p.crews, a)
		return a
	}
	return g
}

// Asked is how much all of them were asked, and what is known of the peers. All crews have the
// same, and some may have asked theirs nothing.
func (p *Peers) Asked() (counts driver.Counts, known driver.Report) {
	for i, a := range p.crews {
		counts.Add(a.counts)
		if r := a.driver.Report(); i == 0 {
			known = r
		} else {
			known = known.And(r)
		}
	}
	return counts, known
}

// Close ends the peers.
func (p *Peers) Close() (err error) {
	for _, a := range p.crews {
		err = errors.Join(err, a.driver.Close())
	}
	return err
}
