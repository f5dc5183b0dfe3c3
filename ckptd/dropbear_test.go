package ckptd

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

var dropbearAddress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 2222)

const exampleKeys = "../examples/scpto/scp/testdata/"

func dropbear(t testing.TB) peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{
			Name: "dropbear",
			Command: []string{"dropbear", "-F", "-E", "-r", "{scratch}/hostkey", "-p", "127.0.0.1:2222", "-P",
				"{scratch}/dropbear.pid"},
			Listen: "127.0.0.1:2222",
		}},
		Files: []peers.File{
			{Path: "hostkey", Content: testkit.ReadFile(t, exampleKeys+"throwaway_host_key"), Mode: 0o600},
			{Path: "root/.ssh/authorized_keys", Content: testkit.ReadFile(t,
				exampleKeys+"throwaway_user_key.pub"), Mode: 0o600},
		},
		Binds: map[string]string{"/root": "{scratch}/root"},
	}
}

// flight is something that the client sent, and all that came back.
type flight struct{ request, response string }

// recorder is the client's end of a connection; it records the dialogue, with a
// checkpoint before everything that the client sends.
type recorder struct {
	talk    *conversation
	images  []string
	mu      sync.Mutex
	arrived *sync.Cond
	flights []flight
	unread  bytes.Buffer
	closed  bool
	failure error // of a checkpoint or the group: the client reports only that the connection is closed
}

func newRecorder(talk *conversation) *recorder {
	r := &recorder{talk: talk}
	r.arrived = sync.NewCond(&r.mu)
	r.unread.WriteString(talk.listen()) // a server may speak first
	return r
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, io.ErrClosedPipe
	}
	image, err := r.talk.group.Checkpoint(testContext(r.talk.t))
	if err != nil {
		r.closed, r.failure = true, err
		r.arrived.Broadcast()
		return 0, err
	}
	r.images = append(r.images, image.ID)
	response, err := r.talk.tryAsk(string(b))
	if err != nil || r.talk.ended {
		r.closed, r.failure = true, err
	}
	r.flights = append(r.flights, flight{request: string(b), response: response})
	r.unread.WriteString(response)
	r.arrived.Broadcast()
	return len(b), err
}

func (r *recorder) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.unread.Len() == 0 && !r.closed {
		r.arrived.Wait()
	}
	if r.unread.Len() == 0 {
		return 0, io.EOF
	}
	return r.unread.Read(b)
}

func (r *recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.arrived.Broadcast()
	return nil
}

func (r *recorder) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (r *recorder) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (r *recorder) SetDeadline(time.Time) error      { return nil }
func (r *recorder) SetReadDeadline(time.Time) error  { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// authenticate does the key exchange over the connection, and authenticates.
func authenticate(t testing.TB, r *recorder) (ssh.Conn, <-chan ssh.NewChannel, <-chan *ssh.Request) {
	t.Helper()
	key, err := ssh.ParsePrivateKey(testkit.ReadFile(t, exampleKeys+"throwaway_user_key"))
	if err != nil {
		t.Fatal(err)
	}
	conn, channels, requests, err := ssh.NewClientConn(r, "dropbear", &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		// Dropbear offers rsa-sha2-256 even where it has no such key, and fails then.
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn, channels, requests
}

// login authenticates over the connection and runs a command.
func login(t *testing.T, r *recorder, command string) string {
	t.Helper()
	conn, channels, requests := authenticate(t, r)
	client := ssh.NewClient(conn, channels, requests)
	defer client.Close()
	session, err := client.NewSession()
	if r.failure != nil && strings.Contains(r.failure.Error(), "CAP_SYS_RESOURCE") {
		t.Skip(otherUser) // or of other groups, as Dropbear since 2025.89 has after a log-in
	}
	if err != nil {
		t.Fatalf("%v; %v%s", err, r.failure, r.talk.group.lastWords())
	}
	out, err := session.CombinedOutput(command)
	if err != nil {
		t.Fatalf("%v; %v: %s%s", err, r.failure, out, r.talk.group.lastWords())
	}
	return string(out)
}

func TestDropbearGoesBackWithinADialogue(t *testing.T) {
	for _, backend := range []string{BackendCRIU, BackendAuto} {
		t.Run(backend, func(t *testing.T) { dropbearGoesBack(t, spawn(t, Options{Backend: backend})) })
	}
}

func dropbearGoesBack(t *testing.T, c *Client) {
	const cycles = 15
	g := start(t, c, dropbear(t))
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, dropbearAddress); err != nil {
		t.Fatal(err)
	}
	recorder := newRecorder(talk)
	if got, want := login(t, recorder, "echo $SSH_CONNECTION"),
		"127.0.0.1 61001 127.0.0.1 2222\n"; got != want {
		t.Fatalf("the command answered %q, not %q", got, want)
	}
	for cycle := range cycles {
		at := cycle % len(recorder.flights)
		if err := g.Restore(testContext(t), recorder.images[at]); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		for i, f := range recorder.flights[at:] {
			if got := talk.ask(f.request); got != f.response {
				t.Fatalf("restored before flight %d: %d bytes in flight %d got another answer, %d bytes "+
					"instead of %d",
					at, len(f.request), at+i, len(got), len(f.response))
			}
		}
	}
}
