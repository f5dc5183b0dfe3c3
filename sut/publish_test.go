package sut_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// audience are peers that are told what is published, and object to some of it.
type audience struct {
	sut.Peers
	inputs            []string
	objectTo, failure string
}

func (a *audience) Exchange(in model.Input) (model.Answer, error) {
	a.inputs = append(a.inputs, in.String())
	if in.Kind != model.Publish {
		return a.Peers.Exchange(in)
	}
	if in.Addr == a.objectTo {
		return model.Answer{Failure: a.failure}, nil
	}
	return model.Answer{}, nil
}

// TestPublish: what a program publishes is an input, if the environment wants to know, and the
// answer may be that it violates something. Without peers, or if they are not told, it is nothing.
func TestPublish(t *testing.T) {
	world := sut.Environment{Inputs: sut.Inputs{PerConnection: true, Published: true}}
	all := []string{`publish decided "7"`, `publish decided ""`, `publish term 3 "node \x00a"`}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		for range 2 {
			a := &audience{Peers: &echoServer{}}
			log := run(t, startIn(t, isolation, world, "publish"), sut.Schedule{}, a)
			if log.Outcome != sut.Completed || string(log.Stdout) != "published" ||
				!slices.Equal(a.inputs, all) {
				t.Errorf("%v: %v %s, inputs %q; want %q", isolation, log.Outcome, log.Message, a.inputs,
					all)
			}
			a = &audience{Peers: &echoServer{}, objectTo: "term 3", failure: "node b leads there"}
			log = run(t, startIn(t, isolation, world, "publish"), sut.Schedule{}, a)
			if log.Outcome != sut.AssertionFailed || log.Message != a.failure || len(log.Stdout) > 0 {
				t.Errorf("%v: %v %q, printed %q; want a violation: %s", isolation, log.Outcome, log.Message,
					log.Stdout, a.failure)
			}
			own := slices.ContainsFunc(log.Stack, func(pc uint64) bool {
				at, ok := program.Position(pc)
				return ok && program.IsOwn(at) && strings.HasSuffix(at.File, "testdata/program/main.go")
			})
			if !own {
				t.Errorf("%v: the stack of the violation has no call of the program", isolation)
			}
		}
		a := &audience{Peers: &echoServer{}}
		for _, peers := range []sut.Peers{nil, a} {
			log := run(t, startIn(t, isolation, sut.Environment{}, "publish"), sut.Schedule{}, peers)
			if log.Outcome != sut.Completed || string(log.Stdout) != "published" || len(a.inputs) > 0 {
				t.Errorf("%v, not to be told: %v %s, inputs %q", isolation, log.Outcome, log.Message,
					a.inputs)
			}
		}
	}
}
