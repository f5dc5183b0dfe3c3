package distribute

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit"
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

// TestEnding: a worker says of a check that it has ended only if the server knows that.
func TestEnding(t *testing.T) {
	t.Parallel()
	s, err := Serve(Options{URL: Embedded, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := connect(Options{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	l := mustLead(t, Options{URL: Embedded, Server: s})
	run, w := l.run, &worker{connection: c}
	says := func(want string) {
		t.Helper()
		if got := w.ending(t.Context(), run); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("the check of p was away for a moment")
	run.ID = "of another check"
	says("the check of p has ended")
	run.ID = l.run.ID
	l.Close()
	says("the check of p has ended")
	// What tells of the end is forgotten after a while. So is the word of a leader that was killed.
	kept, err := c.js.Stream(t.Context(), "KV_"+stateBucket)
	if err == nil {
		err = kept.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	says("nobody speaks of the check of p any more (it has ended or was killed, or the server")
}

// TestLostAnswer: a run begins although the server is gone before it has answered a request. The
// time of the check is its deadline, and is not waited for.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s, err := Serve(Options{URL: Embedded, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	var lost atomic.Bool
	behind := to.Host
	go func() {
		for {
			client, err := between.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", behind)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, server)
				client.Close()
			}()
			go func() {
				_, _ = io.Copy(&losing{server, &lost}, client)
				client.Close()
				server.Close()
			}()
		}
	}()
	to.Host = between.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		l, err := Lead(ctx, Options{URL: to.String(), Say: t.Logf}, Run{Package: "p"}, program)
		if err == nil {
			l.Close()
		}
		ended <- err
	}()
	testkit.Await(t, "the run begins", func() bool { return len(ended) > 0 })
	if err := <-ended; err != nil || !lost.Load() {
		t.Errorf("an answer was lost: %v, error %v", lost.Load(), err)
	}
}

// losing ends the connection to a server before it can answer the first request to empty a queue.
type losing struct {
	net.Conn
	lost *atomic.Bool
}

func (l *losing) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("STREAM.PURGE")) && !l.lost.Swap(true) {
		return 0, io.ErrClosedPipe
	}
	return l.Conn.Write(data)
}
