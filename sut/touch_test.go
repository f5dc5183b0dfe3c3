package sut_test

import (
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// touchingServer is an echoServer whose answers touch two objects.
type touchingServer struct {
	echoServer
	inputs int
}

func (s *touchingServer) Exchange(in model.Input) (model.Answer, error) {
	s.inputs++
	a, err := s.echoServer.Exchange(in)
	a.Touched = []model.Touch{{Object: 1<<63 | 5, Kind: model.Write}, {Object: 1<<63 | 6, Kind: model.Read}}
	return a, err
}

// TestTouched: what an answer touches, its input accesses, in the order of the answer and before
// what arrives. With PerConnection no input accesses the peers as a whole.
func TestTouched(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		world := sut.Environment{Inputs: sut.Inputs{Taken: true, PerConnection: true}}
		peers := &touchingServer{}
		log := run(t, startIn(t, isolation, world, "echo"), sut.Schedule{}, peers)
		if log.Outcome != sut.Completed {
			t.Fatalf("%v: %s", log.Outcome, log.Message)
		}
		touched := 0
		for i := range log.Events {
			e := &log.Events[i]
			if e.Kind == sut.Accessed && e.Subject == 1<<63 {
				t.Errorf("event %d accesses all peers: %+v", i, e)
			}
			if e.Kind != sut.Exchanged {
				continue
			}
			touched++
			for k, want := range []sut.Event{{Subject: 1<<63 | 5, Access: model.Write},
				{Subject: 1<<63 | 6, Access: model.Read}} {
				got := &log.Events[i+1+k]
				if got.Kind != sut.Accessed || got.Subject != want.Subject || got.Access != want.Access {
					t.Errorf("event %d is %+v, want an access %d to %x", i+1+k, got, want.Access,
						want.Subject)
				}
			}
		}
		if touched == 0 || touched != peers.inputs {
			t.Errorf("%d inputs are logged, and there were %d", touched, peers.inputs)
		}
	}
}
