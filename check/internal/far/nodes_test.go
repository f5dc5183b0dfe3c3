package far

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

func TestMain(m *testing.M) {
	natsd.Main()
	os.Exit(m.Run())
}

// TestServerForgets: a server that comes back without what it has stored gets the programs of nodes
// again, so that a worker can join.
func TestServerForgets(t *testing.T) {
	build := func(node string) *sut.Program {
		const dir = "../../../examples/nodes/counter"
		return suttest.Build(t, sut.BuildOptions{Dir: dir, Package: "./" + node})
	}
	server, client := build("server"), build("client")
	c := nodes.Config{Nodes: []nodes.Node{
		{Name: "server", Program: server, Listen: "127.0.0.1:7100"},
		{Name: "one", Program: client}, {Name: "two", Program: client}}}
	dir := t.TempDir()
	s := natsd.Start(t, dir)
	l, err := LeadNodes(t.Context(), &c, Options{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.Kill()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	ctx, end := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	defer busy.Wait()
	defer end()
	busy.Go(func() {
		if err := Work(ctx, Options{Server: s.URL, Say: t.Logf}); err != nil {
			t.Error(err)
		}
	})
	testkit.Await(t, "a worker has the programs", func() bool { return l.Workers() == 1 })
}
