package sut

import (
	"context"
	"testing"
	"time"
)

func TestX(t *testing.T) {
	tc, err := NewToolchain(context.Background(), ".", "/tmp/tandemcache")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tc.Build(context.Background(), BuildOptions{Dir: "/tmp/s1", Package: ".", Output: "/tmp/s1/s1.worker"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(p.Open)
	for _, iso := range []Isolation{Snapshot, Fork} {
	w, err := Start(p, Options{Isolation: iso})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for seed := range 3 {
		l, err := w.Run(Schedule{Seed: uint64(seed), WantCallers: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(l.Outcome, l.ExitCode, len(l.Events), l.Message, string(l.Stdout), string(l.Stderr))
		for _, e := range l.Events {
			pos, _ := p.Position(e.PC)
			if seed == 0  && iso == Snapshot { t.Logf("%d %s %x %x %d/%d %s", e.Kind, e.Operation, e.Subject, e.Object, e.Number, e.Choices, pos)}
		}
	}
	t0 := time.Now()
	for i := range 20000 {
		l, err := w.Run(Schedule{Seed: uint64(i)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if l.Outcome != Completed {
			t.Fatal(i, l.Outcome, l.Message, string(l.Stderr))
		}
	}
	t.Log(time.Since(t0)/20000)
	}
}
