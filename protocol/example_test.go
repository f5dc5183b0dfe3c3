package protocol_test

import (
	"fmt"

	"github.com/tandem-mc/tandem/protocol"
)

// Lock is the server of a lock, or one of its clients. The server has a bug: it gives the lock to a
// client while another one has it.
type Lock struct {
	Server bool
	Holder protocol.ID // of the server; 0, the server itself, is nobody
	Asked  bool
	Has    bool
}

// What clients and the server tell each other.
type (
	Ask     struct{}
	Granted struct{}
	Release struct{}
)

func (l *Lock) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch message.(type) {
	case Ask:
		// The bug: it should look whether somebody holds the lock.
		l.Holder = from
		env.Send(from, Granted{})
	case Release:
		l.Holder = 0
	case Granted:
		l.Has = true
	}
}

// Actions of a client are to ask once, and to give the lock back.
func (l *Lock) Actions() []any {
	switch {
	case l.Server:
		return nil
	case l.Has:
		return []any{Release{}}
	case !l.Asked:
		return []any{Ask{}}
	}
	return nil
}

func (l *Lock) Act(env *protocol.Env, action any) {
	l.Asked, l.Has = true, false
	env.Send(0, action)
}

// A lock server and two clients. In a test, protocol.Test(t, model, protocol.Options{}) is all it
// takes.
func Example() {
	model := &protocol.Model{
		Nodes: []protocol.Node{&Lock{Server: true}, &Lock{}, &Lock{}},
		Names: []string{"server", "A", "B"},
		Properties: []protocol.Property{protocol.Always("one holder at most",
			func(_ protocol.ID, n protocol.Node) bool { return n.(*Lock).Has },
			func(has []bool) bool { return !(has[1] && has[2]) })},
	}
	result, err := protocol.Check(model, protocol.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict, "after", result.Violation.Steps, "steps:", result.Violation.What)
	fmt.Print(result.Violation.Chart)
	// Output:
	// violated after 6 steps: one holder at most
	//       server  A       B
	//    1  |       *       |       call Ask{}
	//       |       |       |         Asked: false -> true
	//       |       |       |         sends Ask{} to server
	//    2  |       |       *       call Ask{}
	//       |       |       |         Asked: false -> true
	//       |       |       |         sends Ask{} to server
	//    3  *<--------------+       Ask{}
	//       |       |       |         Holder: 0 -> 2
	//       |       |       |         sends Granted{} to B
	//    4  *<------+       |       Ask{}
	//       |       |       |         Holder: 2 -> 1
	//       |       |       |         sends Granted{} to A
	//    5  +------>*       |       Granted{}
	//       |       |       |         Has: false -> true
	//    6  +-------------->*       Granted{}
	//       |       |       |         Has: false -> true
}
