// Package bakery is Lamport's bakery ("A New Solution of Dijkstra's Concurrent Programming
// Problem", CACM 1974) as a protocol, a model of StEAM (Edelkamp, Jabbar, Sulewski: "Distributed
// Verification of Multi-threaded C++ Programs", PDMC 2007). Each process keeps its two variables,
// and others read them by messages, one at a time and in the order of the algorithm.
//
// Tickets of the algorithm have no bound: while some process waits, the next ticket is higher. Here
// a process that would draw a ticket above the bound gives up, and may try again later. So the runs
// are those of the algorithm in which no ticket is above the bound, with some that only read. A
// process that polls comes to the same states again, so they are finite.
package bakery

import "github.com/tandem-mc/tandem/protocol"

// Phase is where a process is.
type Phase uint8

// The phases.
const (
	Idle   Phase = iota
	Draws        // reads the tickets of others
	Drawn        // has a ticket, and is still choosing
	Door         // waits until another process is not choosing
	Queue        // waits until its ticket is zero or higher
	Enters       // is in the critical section
)

func (p Phase) String() string {
	return [...]string{"idle", "draws", "drawn", "door", "queue", "enters"}[p]
}

// The messages. An answer is what the reader compares, so equal outcomes are equal messages.
type (
	// Ticket reads a ticket, and Is is the answer.
	Ticket struct{}
	Is     struct{ Ticket int }
	// Choosing reads whether a process is choosing.
	Choosing struct{}
	// First reads a ticket and compares it with one: whether that of the reader is served first.
	First struct{ Ticket int }
	// Yes and No are answers.
	Yes struct{}
	No  struct{}
)

// Process is one of the processes.
type Process struct {
	Most int // of tickets
	// NoDoor leaves out the wait for others that are choosing, which is a bug.
	NoDoor bool

	Phase   Phase
	Ticket  int
	Highest int         // that was read
	Other   protocol.ID // who is read now
}

// isChoosing is the variable of that name.
func (p *Process) isChoosing() bool { return p.Phase == Draws || p.Phase == Drawn }

// Actions: an idle process may want to enter. What it does without reading are steps of its own.
func (p *Process) Actions() []any {
	switch p.Phase {
	case Idle, Drawn, Enters:
		return []any{p.Phase}
	}
	return nil
}

// Act begins to choose, ends it, or leaves the critical section.
func (p *Process) Act(env *protocol.Env, _ any) {
	switch p.Phase {
	case Idle:
		p.read(env, Draws)
	case Drawn:
		p.read(env, p.first())
	case Enters:
		p.Phase, p.Ticket = Idle, 0
	}
}

// first is how a process begins to wait for another one.
func (p *Process) first() Phase {
	if p.NoDoor {
		return Queue
	}
	return Door
}

// read begins with the first of the others.
func (p *Process) read(env *protocol.Env, phase Phase) {
	p.Highest = 0
	p.Other = 0
	if env.ID() == 0 {
		p.Other = 1
	}
	p.Phase = phase
	p.ask(env)
}

// ask reads a variable of the other process.
func (p *Process) ask(env *protocol.Env) {
	switch p.Phase {
	case Draws:
		env.Send(p.Other, Ticket{})
	case Door:
		env.Send(p.Other, Choosing{})
	case Queue:
		env.Send(p.Other, First{p.Ticket})
	}
}

// next goes on with the next of the others. It says whether there is one.
func (p *Process) next(env *protocol.Env) bool {
	p.Other++
	if p.Other == env.ID() {
		p.Other++
	}
	return int(p.Other) < env.Nodes()
}

// Receive answers, or goes on with an answer.
func (p *Process) Receive(env *protocol.Env, from protocol.ID, message any) {
	answer := func(yes bool) {
		if yes {
			env.Send(from, Yes{})
		} else {
			env.Send(from, No{})
		}
	}
	switch m := message.(type) {
	case Ticket:
		env.Send(from, Is{p.Ticket})
	case Choosing:
		answer(p.isChoosing())
	case First:
		answer(p.Ticket == 0 || m.Ticket < p.Ticket || m.Ticket == p.Ticket && from < env.ID())
	case Is:
		p.Highest = max(p.Highest, m.Ticket)
		p.drawn(env)
	case Yes:
		if p.Phase == Door {
			p.ask(env) // until it has chosen
			return
		}
		p.served(env)
	case No:
		if p.Phase == Door {
			p.Phase = Queue
		}
		p.ask(env)
	}
}

// drawn draws a ticket when all were read.
func (p *Process) drawn(env *protocol.Env) {
	switch {
	case p.next(env):
		p.ask(env)
	case p.Highest >= p.Most:
		p.Phase, p.Highest, p.Other = Idle, 0, 0
	default:
		p.Phase, p.Ticket, p.Highest, p.Other = Drawn, p.Highest+1, 0, 0
	}
}

// served goes on with the next process, or enters.
func (p *Process) served(env *protocol.Env) {
	if p.next(env) {
		p.Phase = p.first()
		p.ask(env)
		return
	}
	p.Phase, p.Other = Enters, 0
}

// Model has some processes, with tickets up to a bound.
func Model(processes, most int) *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{
		protocol.Always("one is in the critical section at most",
			func(_ protocol.ID, n protocol.Node) bool { return n.(*Process).Phase == Enters },
			func(isIn []bool) bool {
				count := 0
				for _, in := range isIn {
					if in {
						count++
					}
				}
				return count <= 1
			}),
		protocol.Sometimes("somebody enters with the highest ticket",
			func(_ protocol.ID, n protocol.Node) bool {
				return n.(*Process).Phase == Enters && n.(*Process).Ticket == most
			}, func(has []bool) bool {
				for _, h := range has {
					if h {
						return true
					}
				}
				return false
			}),
	}}
	for range processes {
		m.Nodes = append(m.Nodes, &Process{Most: most})
	}
	return m
}
