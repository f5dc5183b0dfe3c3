package online_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/protocol"
	"github.com/tandem-mc/tandem/protocol/online"
)

// Lock is a server that grants a lock to whoever asks, though another client may have it.
type Lock struct {
	Server, Has bool
	Holder      protocol.ID // 0 is nobody
	Left        int         // how often a client may still ask
}

type (
	Ask     struct{}
	Granted struct{}
	Release struct{}
)

func (l *Lock) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch message.(type) {
	case Ask:
		l.Holder = from // the bug: somebody may hold it
		env.Send(from, Granted{})
	case Granted:
		l.Has = true
		env.SetTimer("done")
	case Release:
		l.Holder = 0
	}
}

func (l *Lock) Timeout(env *protocol.Env, _ any) {
	l.Has = false
	env.Send(0, Release{})
}

func (l *Lock) Actions() []any {
	if l.Server || l.Has || l.Left == 0 {
		return nil
	}
	return []any{Ask{}}
}

func (l *Lock) Act(env *protocol.Env, action any) {
	l.Left--
	env.Send(0, action)
}

// newLock has a server and two clients.
func newLock() *protocol.Model {
	return &protocol.Model{
		Nodes: []protocol.Node{&Lock{Server: true}, &Lock{Left: 1 << 30}, &Lock{Left: 1 << 30}},
		Names: []string{"server", "A", "B"},
		Properties: []protocol.Property{protocol.Always("one holder at most",
			func(_ protocol.ID, n protocol.Node) bool { return n.(*Lock).Has },
			func(has []bool) bool { return !(has[1] && has[2]) })},
	}
}

// The clients run over UDP, of which a third is lost. From some snapshot on, a search sees that
// both may have the lock. In a search each of them asks once more at most.
func ExampleRun() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := online.Run(ctx, online.Config{
		Model: newLock(), Loss: 0.3, Pace: 20 * time.Millisecond, Every: 10 * time.Millisecond,
		Bound: func(nodes []protocol.Node, round int) bool {
			for _, n := range nodes {
				n.(*Lock).Left = min(1, n.(*Lock).Left)
			}
			return round == 0
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Violation.What)
	// r.Violation.Chart is the way there. To debug it, keep the snapshot:
	data, err := r.Snapshot.Save()
	if err != nil {
		fmt.Println(err)
		return
	}
	saved, err := newLock().Load(data, Ask{}, Granted{}, Release{}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a test it would be protocol.Replay(t, saved, r.Violation.Run).
	again, err := protocol.Check(saved, protocol.Options{})
	fmt.Println(again.Violation.What, err)
	// Output:
	// one holder at most
	// one holder at most <nil>
}
