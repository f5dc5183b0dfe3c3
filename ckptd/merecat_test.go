package ckptd

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy"
)

// conversation is a connection of a test to a peer, through the group's proxy.
type conversation struct {
	t     testing.TB
	group *Group
	id    proxy.ID
	fd    int
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
	c.fd = fd
}

// ask sends bytes and returns what comes back until the group is quiescent.
func (c *conversation) ask(request string) string {
	c.t.Helper()
	if n, err := unix.Write(c.fd, []byte(request)); err != nil || n != len(request) {
		c.t.Fatalf("write %q: %d, %v", request, n, err)
	}
	return c.listen()
}

func (c *conversation) listen() string {
	c.t.Helper()
	var answer strings.Builder
	b := make([]byte, 64<<10)
	err := c.group.Quiesce(testContext(c.t), func() (bool, error) {
		n, err := unix.Read(c.fd, b)
		if err == unix.EAGAIN || (err == nil && n == 0) {
			return false, nil
		}
		answer.Write(b[:max(n, 0)])
		return true, err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.String()
}

func get(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: tandem\r\nConnection: keep-alive\r\n\r\n"
}

func TestMerecatGoesBackWithinADialogue(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	first := talk.ask(get("/a.txt"))
	if !strings.Contains(first, "alpha") {
		t.Fatalf("GET /a.txt: %q", first)
	}
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := talk.ask(get("/b.txt"))
	t.Log(image, want)
	for range 30 {
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		if got := talk.ask(get("/b.txt")); !strings.HasSuffix(got, "beta\n") {
			t.Fatalf("after a restore: %q, before: %q", got, want)
		}
	}
}
