package ckptd

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// curls are clients that ask the system under test for a page each.
func curls() peers.Group {
	curl := func(name string) peers.Peer {
		return peers.Peer{Name: name, Command: []string{"curl", "-s", "-S", "http://{sut}:8080/" + name},
			After: "listen 8080"}
	}
	return peers.Group{Peers: []peers.Peer{curl("one"), curl("two")}}
}

// shells are the same, as simple programs.
func shells() peers.Group {
	const script = `exec 3<>/dev/tcp/{sut}/8080; printf 'GET /%s HTTP/1.1\r\n\r\n' $0 >&3; ` +
		`read -r line <&3 || exit 52`
	shell := func(name string) peers.Peer {
		return peers.Peer{Name: name, Command: []string{"bash", "-c", script, name}, After: "listen 8080"}
	}
	return peers.Group{Peers: []peers.Peer{shell("one"), shell("two")}}
}

// server plays the system under test: it listens at 0, and its connections are 1 and 2.
type server struct {
	t     *testing.T
	group *Group
	fds   map[proxy.ID]int
}

// step is a thing that the server does; what the clients do then is the result.
func (s *server) step(n int) string {
	s.t.Helper()
	ctx := testContext(s.t)
	must := func(err error) {
		if err != nil {
			s.t.Helper()
			s.t.Fatalf("step %d: %v", n, err)
		}
	}
	before := s.ended()
	var received [3][]byte
	switch n {
	case 0, 1:
		id := proxy.ID(n + 1)
		if n == 0 {
			s.obtain(0)
			must(s.group.Proxy().Bind(ctx, 0, netip.MustParseAddrPort("0.0.0.0:8080")))
		}
		must(s.group.StartClient(ctx, n))
		fd, _, err := s.group.Proxy().Accept(ctx, 0, id)
		must(err)
		s.fds[id] = fd
	case 2:
		_, err := unix.Write(s.fds[1], []byte("HTTP/1.0 200 OK\r\n\r\nhello"))
		must(err)
		s.close(1)
	case 3:
		s.close(2)
	}
	must(s.group.Quiesce(ctx, func() (bool, error) {
		for id, fd := range s.fds {
			b := make([]byte, 4096)
			if k, err := unix.Read(fd, b); id > 0 && err == nil && k > 0 {
				received[id] = append(received[id], b[:k]...)
				return true, nil
			}
		}
		return false, nil
	}))
	var did []string
	for id, data := range received {
		if len(data) > 0 {
			did = append(did, fmt.Sprintf("%d: %s", id, data))
		}
	}
	for _, e := range s.ended() {
		if !slices.Contains(before, e) {
			did = append(did, fmt.Sprintf("%d %s", e.Peer, peers.Outcome(e.Status)))
		}
	}
	return strings.Join(did, ", ")
}

func (s *server) ended() []watch.Ending {
	ended, err := s.group.Ended()
	if err != nil {
		s.t.Fatal(err)
	}
	return ended
}

func (s *server) close(id proxy.ID) {
	unix.Close(s.fds[id])
	delete(s.fds, id)
	if err := s.group.Proxy().Close(testContext(s.t), id); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) obtain(ids ...proxy.ID) {
	for _, id := range ids {
		fd, err := s.group.Proxy().CreateSocket(testContext(s.t), id)
		if err != nil {
			s.t.Fatal(err)
		}
		s.fds[id] = fd
	}
}

func (s *server) forget() {
	for _, fd := range s.fds {
		unix.Close(fd)
	}
	clear(s.fds)
}

// TestClientsGoBack takes clients back to where they were: not started, in the middle of a
// request, and ended.
func TestClientsGoBack(t *testing.T) {
	for name, clients := range map[string]func() peers.Group{"curl": curls, "bash": shells} {
		t.Run(name, func(t *testing.T) {
			bothBackends(t, func(t *testing.T, c *Client) { goBackWithClients(t, c, clients()) })
		})
	}
}

func goBackWithClients(t *testing.T, c *Client, clients peers.Group) {
	open := [][]proxy.ID{{}, {0, 1}, {0, 1, 2}, {0, 2}, {0}}
	ctx := testContext(t)
	s := &server{t: t, group: start(t, c, clients), fds: map[proxy.ID]int{}}
	defer s.forget()
	var images, reactions []string
	save := func() {
		image, err := s.group.Checkpoint(ctx)
		if err != nil {
			t.Fatalf("checkpoint %d: %v", len(images), err)
		}
		images = append(images, image.ID)
	}
	for n := range 4 {
		save()
		reactions = append(reactions, s.step(n))
	}
	save()
	if !strings.HasPrefix(reactions[0], "1: GET /one HTTP/1.1\r\n") ||
		!strings.HasPrefix(reactions[1], "2: GET /two") ||
		reactions[2] != "0 exited with status 0" || reactions[3] != "1 exited with status 52" {
		t.Fatalf("the clients do %q", reactions)
	}
	for n := range slices.Backward(images) {
		s.forget()
		if err := s.group.Restore(ctx, images[n]); err != nil {
			t.Fatalf("restore of image %d: %v", n, err)
		}
		s.obtain(open[n]...)
		for m := n; m < 4; m++ {
			if got := s.step(m); got != reactions[m] {
				t.Errorf("from image %d on, after step %d: %q, and it was %q", n, m, got, reactions[m])
			}
		}
	}
}

// TestClientsStart: a client is started once, and there must be one.
func TestClientsStart(t *testing.T) {
	g := start(t, spawn(t, Options{}), peers.Group{Peers: append(merecat().Peers, curls().Peers[0]),
		Files: merecat().Files})
	ctx := testContext(t)
	if err := g.StartClient(ctx, 0); err == nil ||
		err.Error() != "start merecat: start of peer 0: there is no peer with this number that is started "+
			"on demand" {
		t.Errorf("a peer that is no client: %v", err)
	}
	if err := g.StartClient(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := g.StartClient(ctx, 1); err == nil || !strings.Contains(err.Error(), "the peer runs already") {
		t.Errorf("started twice: %v", err)
	}
	if err := g.Check(); err != nil {
		t.Errorf("a client may end: %v", err)
	}
	if _, err := spawn(t, Options{}).Start(ctx, peers.Group{Peers: []peers.Peer{{Name: "x",
		Command: []string{"nonesuch"}, After: "listen 80"}}}); err == nil ||
		!strings.Contains(err.Error(), `start peer x: no command "nonesuch"`) {
		t.Errorf("a command that there is not: %v", err)
	}
}

// TestClientThatCannotBeStarted: what cannot be there is said when the group starts, the rest with
// its reason.
func TestClientThatCannotBeStarted(t *testing.T) {
	c := spawn(t, Options{})
	client := func(command string) peers.Group {
		return peers.Group{
			Peers: []peers.Peer{{Name: "asker", Command: []string{command}, After: "listen 8080"}},
			Files: []peers.File{{Path: "{scratch}/asker", Content: []byte("no script"), Mode: 0o755}},
		}
	}
	for command, want := range map[string]string{
		"no-such-client": `start peer asker: no command "no-such-client" in its PATH`,
		"/no/such":       "start peer asker: execute /no/such: no such file or directory",
		"{scratch}/no":   "start peer asker: execute /run/tandem/no: no such file or directory",
		"/etc/passwd":    "start peer asker: execute /etc/passwd: permission denied",
	} {
		if _, err := c.Start(testContext(t), client(command)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", command, err, want)
		}
	}
	for _, command := range []string{"{scratch}/asker", "./asker"} {
		g := start(t, c, client(command))
		err := g.StartClient(testContext(t), 0)
		if err == nil || !strings.Contains(err.Error(), "exec format error") {
			t.Errorf("a file that is no program: %v", err)
		}
		if err := g.Quiesce(testContext(t), nil); err != nil {
			t.Errorf("after a client that could not be started: %v", err)
		}
	}
}
