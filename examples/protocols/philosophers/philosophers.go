// Package philosophers is Dijkstra's dining philosophers as a protocol, a model of StEAM (Edelkamp,
// Jabbar, Sulewski: "Distributed Verification of Multi-threaded C++ Programs", PDMC 2007). Each
// takes the fork at the left, then the one at the right, eats, and puts both down. A node is a
// stretch of the table with some philosophers and the forks at their left. Its last one asks the
// next stretch for its first fork. If all hold a fork and have asked, nothing can happen any more.
package philosophers

import "github.com/tandem-mc/tandem/protocol"

// State is what a philosopher does.
type State uint8

// The states.
const (
	Thinks State = iota
	Waits        // holds the left fork
	Eats
)

func (s State) String() string { return [...]string{"thinks", "waits", "eats"}[s] }

// The messages between stretches, all about the first fork of one.
type (
	// Ask wants the fork. Granted hands it over, and Return brings it back.
	Ask     struct{}
	Granted struct{}
	Return  struct{}
)

// Stretch is a part of the table.
type Stretch struct {
	Seats []State
	// Lent: the first fork is with the stretch before. Wanted: that waits for it.
	Lent, Wanted bool
	// Asked: the last philosopher has asked for the fork at the right, or has it.
	Asked bool
}

// isFree says whether the fork at the left of a seat lies on the table.
func (s *Stretch) isFree(seat int) bool {
	isTaken := s.Lent
	if seat > 0 {
		isTaken = s.Seats[seat-1] == Eats
	}
	return s.Seats[seat] == Thinks && !isTaken
}

// can says whether a philosopher can do the next thing.
func (s *Stretch) can(seat int) bool {
	switch {
	case s.Seats[seat] == Thinks:
		return s.isFree(seat)
	case s.Seats[seat] == Eats:
		return true
	case seat == len(s.Seats)-1:
		return !s.Asked
	}
	return s.Seats[seat+1] == Thinks
}

// Actions are the seats of those who can do something.
func (s *Stretch) Actions() (list []any) {
	for seat := range s.Seats {
		if s.can(seat) {
			list = append(list, seat)
		}
	}
	return list
}

// Act has one take a fork, or ask for it, or put both down.
func (s *Stretch) Act(env *protocol.Env, action any) {
	seat := action.(int)
	isLast := seat == len(s.Seats)-1
	next := (env.ID() + 1) % protocol.ID(env.Nodes())
	switch {
	case s.Seats[seat] == Thinks:
		s.Seats[seat] = Waits
	case s.Seats[seat] == Waits && isLast:
		s.Asked = true
		env.Send(next, Ask{})
	case s.Seats[seat] == Waits:
		s.Seats[seat] = Eats
	default:
		s.Seats[seat] = Thinks
		if isLast {
			s.Asked = false
			env.Send(next, Return{})
		}
		s.grant(env)
	}
}

// grant hands the first fork over, if it is wanted and free.
func (s *Stretch) grant(env *protocol.Env) {
	if s.Wanted && s.isFree(0) {
		s.Wanted, s.Lent = false, true
		env.Send((env.ID()+protocol.ID(env.Nodes())-1)%protocol.ID(env.Nodes()), Granted{})
	}
}

// Receive is about a first fork: the own one, or that of the next stretch.
func (s *Stretch) Receive(env *protocol.Env, _ protocol.ID, message any) {
	switch message.(type) {
	case Ask:
		s.Wanted = true
	case Granted:
		s.Seats[len(s.Seats)-1] = Eats
	case Return:
		s.Lent = false
	}
	s.grant(env)
}

// Model has some stretches with some seats each.
func Model(stretches, seats int) *protocol.Model {
	m := &protocol.Model{Network: protocol.Ordered, Properties: []protocol.Property{protocol.Eventually(
		"no deadlock", func(protocol.ID, protocol.Node) bool { return false },
		func([]bool) bool { return false })}}
	for range stretches {
		m.Nodes = append(m.Nodes, &Stretch{Seats: make([]State, seats)})
	}
	return m
}

// StillGoing is how many steps are missing until nobody can go on: StEAM's estimate counts the
// threads that are not blocked. It is admissible, since each of these steps has to be done, and one
// step is one of them.
func StillGoing() protocol.Estimate {
	return protocol.NewEstimate(func(_ protocol.ID, n protocol.Node) (steps int) {
		s := n.(*Stretch)
		for _, x := range s.Seats {
			switch x {
			case Thinks:
				steps++ // takes the fork at the left
			case Eats:
				steps += 2 // puts it down before
			}
		}
		if !s.Asked || s.Seats[len(s.Seats)-1] == Eats {
			steps++ // asks the next stretch
		}
		if !s.Wanted {
			steps++ // is asked
		}
		return steps
	}, func(steps []int, _ []protocol.Message) (sum int) {
		for _, s := range steps {
			sum += s
		}
		return sum
	})
}
