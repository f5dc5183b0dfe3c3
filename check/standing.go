package check

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// standing is a group and where it stands.
type standing struct {
	group   *ckptd.Group     // nil until it is needed
	at      iocache.Position // where the group stands; nil: nowhere, its connections were given up
	sockets map[int]*socket  // the group's open connections, by number
	lost    string           // why the first of the checkpoints that are gone is
}

// maxStandings is how many groups run at a time: one for each of the behaviours that were
// needed last. With a group, its checkpoints go.
const maxStandings = 32

// behave makes the group current that behaves as it was chosen.
func (p *peerSide) behave(behaviour int) error {
	if p.standing != nil && p.standings[0].behaviour == behaviour {
		return nil
	}
	i := slices.IndexFunc(p.standings, func(s behaving) bool { return s.behaviour == behaviour })
	var s behaving
	if i >= 0 {
		s = p.standings[i]
		p.standings = slices.Delete(p.standings, i, i+1)
	} else {
		s = behaving{behaviour, &standing{sockets: map[int]*socket{}}}
	}
	p.standings = slices.Insert(p.standings, 0, s)
	p.standing = s.standing
	if len(p.standings) <= maxStandings {
		return nil
	}
	oldest := p.standings[maxStandings]
	p.standings = p.standings[:maxStandings]
	return oldest.close()
}

// behaving is a group that behaves in one of several ways.
type behaving struct {
	behaviour int
	*standing
}

// behaviours is how many ways the peers can behave in.
func (p *peerSide) behaviours() int { return p.spec.Behaviours() }

// depth is how many inputs lead to a place; to choose how the peers behave is none.
func (p *conversation) depth(at iocache.Position) int {
	n, _ := p.cache.Distance(iocache.Position{p.started}, at)
	return n
}

// choose notes how the peers behave in the present execution.
func (p *conversation) choose(behaviour int) error {
	p.behaviour = behaviour
	if p.behaviours() <= 1 {
		return nil
	}
	input := model.Input{Kind: model.Choose, Conn: behaviour}
	_, _, hit, err := p.cursor.Lookup(input)
	if err != nil {
		return err
	}
	if !hit {
		if err := p.remember(input, model.Reaction{}); err != nil {
			return err
		}
	}
	p.started = p.cursor.Node()
	return nil
}

func (s *standing) dropSockets() {
	for number, socket := range s.sockets {
		unix.Close(socket.fd)
		delete(s.sockets, number)
	}
}

// close ends the group.
func (s *standing) close() error {
	s.dropSockets()
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}
