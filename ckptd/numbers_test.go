package ckptd

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// TestNumbersOfChildrenGoBack: what a peer starts has the process ID that it would have had without
// any checkpoint or restore.
func TestNumbersOfChildrenGoBack(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, ownPeer("inetd", "/bin/sh", "-c", "while read line; do sh -c 'echo $$'; done"))
		talk := connectTo(t, g, sinkAddress)
		talk.listen()
		child := func() int {
			t.Helper()
			answer := talk.ask("child\n")
			number, err := strconv.Atoi(strings.TrimSpace(answer))
			if err != nil {
				t.Fatalf("the answer is %q: %v", answer, err)
			}
			return number
		}
		first := child()
		image := savedGroup(t, g)
		for round := range 3 {
			for n := 1; n <= 4; n++ {
				if got := child(); got != first+n {
					t.Errorf("after %d restores child %d has the number %d and not %d", round, n, got,
						first+n)
				}
				if n == 2 {
					savedGroup(t, g)
				}
			}
			if err := g.Restore(testContext(t), image); err != nil {
				t.Fatal(err)
			}
			talk.obtain()
		}
	})
}

// TestProxyUsesUpNoNumbers: it has all the threads that it will ever have before it starts the
// first peer, whose number is 100.
func TestProxyUsesUpNoNumbers(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	for range 8 {
		g := start(t, c, merecat())
		image := savedGroup(t, g)
		for n := range 10 {
			if err := g.Restore(testContext(t), image); err != nil {
				t.Fatal(err)
			}
			if fd, err := g.Proxy().CreateSocket(testContext(t), proxy.ID(n)); err != nil {
				t.Fatal(err)
			} else {
				unix.Close(fd)
			}
			if err := g.Proxy().Connect(testContext(t), proxy.ID(n), merecatAddress); err != nil {
				t.Fatal(err)
			}
		}
		tids, err := procfs.Threads(g.PID())
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if number, err := procfs.InnerPID(tid); err != nil || number >= 100 {
				t.Errorf("a thread of the proxy has the number %d, %v", number, err)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNumbersInUse has a peer take the IDs that copies get first.
func TestNumbersInUse(t *testing.T) {
	g := start(t, spawn(t, Options{Backend: BackendMemory}), ownPeer("sink with high numbers"))
	highest := 0
	for _, line := range visible(t, g) {
		if _, number, ok := strings.Cut(line, " NSpid:"); ok {
			n, _ := strconv.Atoi(number)
			highest = max(highest, n)
		}
	}
	if highest < 1<<14 {
		t.Fatalf("the peer has numbers up to %d", highest)
	}
	dialogue{"", nil, sinkAddress, []string{"count\n", "count\n", "count\n"}, true}.goBack(t, g)
}
