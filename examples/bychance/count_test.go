package bychance_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// endsAsTold ends in the way that its argument says.
const endsAsTold = `package main

import (
	"net"
	"os"
	"sync"
)

func main() {
	if _, err := net.Listen("tcp", "127.0.0.1:80"); err != nil {
		os.Exit(1) // the network is not one of its own
	}
	var all sync.WaitGroup
	shared := 0
	switch os.Args[1] {
	case "ends":
	case "races":
		for range 2 {
			all.Go(func() { shared++ })
		}
		all.Wait()
	case "panics":
		panic("x")
	case "deadlock":
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	case "hangs":
		for {
		}
	case "fails":
		os.Exit(7)
	}
}
`

// TestCount: a program is run as often as is said, in its directory, with its arguments, and each
// way to end is counted as what it is.
func TestCount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	directory := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/ends\n\ngo 1.26\n", "main.go": endsAsTold,
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const minute = time.Minute
	for name, want := range map[string]endings{
		"ends":   {Runs: 2},
		"races":  {Runs: 2, Races: 2},
		"panics": {Runs: 2, Panics: 2},
		"fails":  {Runs: 2, Fails: 2},
	} {
		got, err := count(directory, []string{name}, 2, minute, minute)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	// A deadlock hangs, because the race detector is written in C. The run that is under way when
	// the time is over is the last.
	for _, name := range []string{"deadlock", "hangs"} {
		got, err := count(directory, []string{name}, 1000, time.Nanosecond, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got.Hangs, got.Deadlocks = got.Hangs+got.Deadlocks, 0
		if diff := cmp.Diff(endings{Runs: 1, Hangs: 1}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
