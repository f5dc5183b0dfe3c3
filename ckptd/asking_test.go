package ckptd

import (
	"bufio"
	"crypto/ed25519"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// askingDialogue is what the profile of a client is tested with: the server that it asks, on one
// connection.
type askingDialogue struct {
	profile   string
	arguments []string
	program   string
	serve     func(*testing.T, net.Conn)
	least     int      // flights of the server
	asked     []string // of the client's flights: parts of them, in this order
	says      string   // at the end
	shell     bool     // starts it, whose system calls are filtered, so that only CRIU can hold it
}

var askingDialogues = []askingDialogue{
	{
		profile: "curl", arguments: []string{"http://{sut}:8080/one", "http://{sut}:8080/two", "--data",
			"three", "http://{sut}:8080/three"},
		serve: serveWeb, least: 3, asked: []string{"POST /one", "POST /two", "POST /three"},
		says: "/one: three\n/two: three\n/three: three\n",
	},
	{profile: "dbclient", arguments: []string{"greet"}, serve: serveSSH, least: 6,
		asked: []string{"SSH-2.0-dropbear"},
		says:  "dbclient: Caution, skipping hostkey check for 127.0.0.1\n\nhello tandem\n"},
	{
		profile: "redis-cli", program: "set a 1\nincr a\nget a\n", serve: serveRedis, least: 3,
		asked: []string{"set", "incr", "get"}, says: "OK\n2\nx\n", shell: true,
	},
	{profile: "redis-cli", serve: serveRedis, least: 1, asked: []string{"ping"}, says: "PONG\n"},
}

// serveWeb is a web server of Go's library, which tells what it is asked.
func serveWeb(t *testing.T, c net.Conn) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s: %s\n", r.URL.Path, body)
	})
	server := &http.Server{Handler: handler}
	closed := make(chan bool)
	server.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(closed)
		}
	}
	if err := server.Serve(&onlyOne{conn: c, closed: closed}); err != net.ErrClosed {
		t.Error(err)
	}
}

// onlyOne is a listener with one connection, until that is closed.
type onlyOne struct {
	conn   net.Conn
	closed chan bool
}

func (l *onlyOne) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *onlyOne) Close() error   { return nil }
func (l *onlyOne) Addr() net.Addr { return &net.TCPAddr{} }

// serveSSH lets in whoever has the profile's key, and greets.
func serveSSH(t *testing.T, c net.Conn) {
	g, err := profile(t, "dbclient").Expand(peers.Parameters{})
	if err != nil {
		t.Error(err)
		return
	}
	allowed, _, _, _, err := ssh.ParseAuthorizedKey(g.Files[1].Content)
	if err != nil {
		t.Error(err)
		return
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata,
		key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, fmt.Errorf("another key")
		}
		return nil, nil
	}}
	_, private, err := ed25519.GenerateKey(rand.New(rand.NewSource(1)))
	if err != nil {
		t.Error(err)
		return
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Error(err)
		return
	}
	config.AddHostKey(signer)
	client, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		t.Error(err)
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		for r := range requests {
			r.Reply(r.Type == "exec", nil)
			if r.Type == "exec" {
				fmt.Fprintf(channel, "hello %s\n", client.User())
				channel.SendRequest("exit-status", false, make([]byte, 4))
				channel.Close()
			}
		}
	}
}

// serveRedis answers a few commands, which come as lists of texts with their lengths.
func serveRedis(t *testing.T, c net.Conn) {
	answers := map[string]string{"set": "+OK\r\n", "incr": ":2\r\n", "get": "$1\r\nx\r\n",
		"ping": "+PONG\r\n"}
	r := bufio.NewReader(c)
	for {
		var n, length int
		var words []string
		if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
			return
		}
		for range n {
			var word string
			if _, err := fmt.Fscanf(r, "$%d\r\n%s\r\n", &length, &word); err != nil {
				t.Error(err)
				return
			}
			words = append(words, word)
		}
		answer, known := answers[words[0]]
		if !known { // what redis-cli wants to know of the server
			answer = "-ERR unknown command\r\n"
		}
		if _, err := io.WriteString(c, answer); err != nil {
			t.Error(err)
			return
		}
	}
}

func profile(t *testing.T, name string) peers.Profile {
	t.Helper()
	p, err := peers.FindProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestClientsGoBackWithinADialogue: the clients of the profiles ask real servers, with a checkpoint
// before everything that these send; then they go back to each of them, are sent the same, and must
// do as they did, as one does with which nobody interferes.
func TestClientsGoBackWithinADialogue(t *testing.T) {
	for _, d := range askingDialogues {
		for _, backend := range []string{BackendCRIU, BackendMemory} {
			if d.shell && backend == BackendMemory {
				continue
			}
			t.Run(d.profile+"/"+backend, func(t *testing.T) { d.run(t, spawn(t, Options{Backend: backend})) })
		}
	}
}

func (d askingDialogue) run(t *testing.T, c *Client) {
	talk, first := d.start(t, c)
	r := newRecorder(talk)
	r.unread.WriteString(first)
	d.serve(t, r)
	d.judge(t, talk, first, r.flights)

	undisturbed, again := d.start(t, c)
	if again != first {
		t.Fatalf("a second one begins with %q, the first with %q", again, first)
	}
	d.repeat(t, undisturbed, r.flights, "undisturbed")
	for from := len(r.flights) - 1; from >= 0; from-- {
		if err := talk.group.Restore(testContext(t), r.images[from]); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		d.repeat(t, talk, r.flights[from:], fmt.Sprintf("restored before flight %d", from))
	}
}

// start starts the client, which connects, and returns what it says first.
func (d askingDialogue) start(t *testing.T, c *Client) (*conversation, string) {
	a := peers.Parameters{Arguments: d.arguments}
	if d.program != "" {
		a.Program = []byte(d.program)
	}
	p := profile(t, d.profile)
	description, err := p.Expand(a)
	if err != nil {
		t.Fatal(err)
	}
	talk := &conversation{t: t, group: start(t, c, description), id: 1}
	ctx, proxied := testContext(t), talk.group.Proxy()
	listener, err := proxied.CreateSocket(ctx, listenerOfTest)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(listener) // the proxy has its own
	if err := proxied.Bind(ctx, listenerOfTest, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		uint16(p.Port))); err != nil {
		t.Fatal(err)
	}
	if err := talk.group.StartClient(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if talk.fd, _, err = proxied.Accept(ctx, listenerOfTest, talk.id); err != nil {
		t.Fatal(err)
	}
	return talk, talk.listen()
}

const listenerOfTest proxy.ID = 2

// repeat has the server send again what it has sent, of which the client must think the same.
func (d askingDialogue) repeat(t *testing.T, talk *conversation, flights []flight, how string) {
	t.Helper()
	talk.group.Written()
	for i, f := range flights {
		if got := talk.ask(f.request); got != f.response {
			t.Fatalf("%s, flight %d: %d bytes got the answer %q, and before %q", how, i, len(f.request), got,
				f.response)
		}
	}
	if said := d.ended(t, talk); !strings.HasSuffix(d.says, said) {
		t.Errorf("%s, it says %q in the end, and before %q", how, said, d.says)
	}
}

// ended is what the client has written; it must have ended well.
func (d askingDialogue) ended(t *testing.T, talk *conversation) string {
	t.Helper()
	said := strings.Join(talk.group.Written(), "")
	if e, err := talk.group.Ended(); err != nil || len(e) != 1 || e[0].Status != 0 {
		t.Errorf("%s has not ended well: %v, %v; it says %q", d.profile, e, err, said)
	}
	return said
}

// judge looks whether the first dialogue was what it should be.
func (d askingDialogue) judge(t *testing.T, talk *conversation, first string, flights []flight) {
	t.Helper()
	asked := first
	for _, f := range flights {
		asked += f.response
	}
	for _, part := range d.asked {
		_, after, found := strings.Cut(asked, part)
		if !found {
			t.Fatalf("%s does not ask %q: %q", d.profile, part, asked)
		}
		asked = after
	}
	if said := d.ended(t, talk); said != d.says || len(flights) < d.least {
		t.Fatalf("%s says %q after %d flights, want %q after at least %d", d.profile, said, len(flights),
			d.says, d.least)
	}
}
