package distribute

import (
	"sync"
	"testing"
)

// TestServe: a server in this process stays for several runs, with its workers, and ends with them.
func TestServe(t *testing.T) {
	t.Parallel()
	if s, err := Serve(Options{URL: "nats://127.0.0.1:1"}); s != nil || err != nil {
		t.Errorf("%v is served elsewhere, error %v", s, err)
	}
	s, err := Serve(Options{URL: Embedded, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := recruit(t, s.url, 2, nil)
	for range 2 {
		l := mustLead(t, Options{URL: Embedded, Server: s})
		if l.URL() != s.url {
			t.Errorf("workers are to join at %s, and the server is at %s", l.URL(), s.url)
		}
		c.await(l, 2)
		explores(t, l, 5, 2)
		l.Close()
	}
	s.Close()
	c.busy.Wait() // nobody tells the workers to end but the server
	if !c.said.has(errBye.Error()) {
		t.Error("no worker has said that the server has ended")
	}
}

// TestProvideTogether: workers that come to an empty server at the same time all find room there.
// The server counts what two of them make at once twice for a moment.
func TestProvideTogether(t *testing.T) {
	t.Parallel()
	for range 2 {
		s, err := Serve(Options{URL: Embedded, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 6 {
			c, err := connect(Options{URL: s.url})
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			all.Go(func() {
				if err := c.provide(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.Close()
	}
}
