package ckptd

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// conversation is a connection of a test to a peer, through the group's proxy.
type conversation struct {
	t     testing.TB
	group *Group
	id    proxy.ID
	fd    int
	ended bool // the peer has closed its end
}

// obtain gets the descriptor of a socket, anew after a restore.
func (c *conversation) obtain() {
	c.t.Helper()
	if c.fd > 0 {
		unix.Close(c.fd)
	}
	fd, err := c.group.Proxy().CreateSocket(testContext(c.t), c.id)
	if err != nil {
		c.t.Fatal(err)
	}
	c.fd, c.ended = fd, false
}

func connectTo(t testing.TB, g *Group, address netip.AddrPort) *conversation {
	t.Helper()
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, address); err != nil {
		t.Fatal(err)
	}
	return talk
}

func savedGroup(t testing.TB, g *Group) string {
	t.Helper()
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return image.ID
}

// ask sends bytes and returns what comes back until the group is quiescent.
func (c *conversation) ask(request string) string {
	c.t.Helper()
	answer, err := c.tryAsk(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// tryAsk is ask for goroutines other than the test's.
func (c *conversation) tryAsk(request string) (string, error) {
	if n, err := unix.Write(c.fd, []byte(request)); err != nil || n != len(request) {
		return "", fmt.Errorf("wrote %d bytes of %q: %w", n, request, err)
	}
	return c.tryListen()
}

func (c *conversation) listen() string {
	c.t.Helper()
	answer, err := c.tryListen()
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func (c *conversation) tryListen() (string, error) {
	var answer strings.Builder
	err := c.group.Quiesce(testContext(c.t), c.drain(&answer))
	return answer.String(), err
}

// drain reads what has come.
func (c *conversation) drain(to *strings.Builder) func() (bool, error) {
	b := make([]byte, 64<<10)
	return func() (bool, error) {
		n, err := unix.Read(c.fd, b)
		c.ended = c.ended || err == nil && n == 0
		if err == unix.EAGAIN || c.ended {
			return false, nil
		}
		to.Write(b[:max(n, 0)])
		return true, err
	}
}

func get(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: tandem\r\nConnection: keep-alive\r\n\r\n"
}

// patientMerecat is one whose clock is virtual, and stands still while it waits: it does not
// close a connection that was idle for a second while the machine was busy with other things.
func patientMerecat(testing.TB) peers.Group {
	g := merecat()
	g.Peers[0].VirtualClock = true
	return g
}

func TestMerecatGoesBackWithinADialogue(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) { pagesGoBack(t, start(t, c, patientMerecat(t))) })
}

// pagesGoBack restores a server of pages within a request.
func pagesGoBack(t *testing.T, g *Group) {
	const cycles = 30
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	if first := talk.ask(get("/a.txt")); !strings.HasSuffix(first, "\r\n\r\nalpha\n") {
		t.Fatalf("GET /a.txt: %q", first)
	}
	half, rest := get("/b.txt")[:20], get("/b.txt")[20:]
	if early := talk.ask(half); early != "" {
		t.Fatalf("half of a request is answered: %q", early)
	}
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := withoutDate(talk.ask(rest))
	if !strings.HasSuffix(want, "\r\n\r\nbeta\n") {
		t.Fatalf("GET /b.txt: %q", want)
	}
	for cycle := range cycles {
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		if got := withoutDate(talk.ask(rest)); got != want {
			t.Fatalf("cycle %d: %q (the connection has ended: %t), before: %q", cycle, got, talk.ended, want)
		}
	}
}

// withoutDate leaves out the header Date: CRIU does not turn back the wall clock.
func withoutDate(answer string) string {
	return regexp.MustCompile(`\r\nDate: [^\r]*`).ReplaceAllString(answer, "")
}

// TestAnswersAreCompleteAtQuiescence is about the network as the daemon makes it, with
// quick acknowledgements: nothing slows the judgement down, so that it may come too early.
func TestAnswersAreCompleteAtQuiescence(t *testing.T) {
	for _, method := range []string{watch.MethodProcfs, QuiescenceAuto} {
		t.Run(method, func(t *testing.T) { answersAreComplete(t, spawn(t, Options{Quiescence: method})) })
	}
}

func answersAreComplete(t *testing.T, c *Client) {
	g := start(t, c, patientMerecat(t))
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	for n := range 90 { // merecat closes a connection after 100 requests
		for _, page := range []string{"alpha", "beta"} {
			if got := talk.ask(get("/" + page[:1] + ".txt")); !strings.HasSuffix(got, "\r\n\r\n"+page+"\n") {
				t.Fatalf("round %d: at quiescence the answer is %q", n, got)
			}
		}
	}
}
