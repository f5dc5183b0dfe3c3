package ckptd

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// step is one request of a dialogue, on one of its connections, which are made when they
// are first used.
type step struct {
	connection proxy.ID
	request    string
	want       string // a part of the answer; empty: any, also none
}

// profileDialogue is what a profile is tested with.
type profileDialogue struct {
	profile string
	program string // of the profile: what makes it
	// arguments of the profile
	arguments []string
	// choices: the peer's random numbers are chosen, since answers depend on them.
	choices int
	steps   []step
	// masked is what may differ between two runs, and why.
	masked *regexp.Regexp
	// notByCRIU says why CRIU alone cannot bring a group back, and notBack why nothing can: then
	// the dialogue is had once.
	notByCRIU, notBack string
	// slow: the peer is not ready to answer as soon as it listens, or sleeps before it does.
	slow bool
}

// date is the time of day, which no backend turns back. A page that is made for the
// occasion was also last modified just then.
var date = regexp.MustCompile(`\r\n(Date|Last-Modified): [^\r]*`)

// pagesOfTest are what web servers serve.
var pagesOfTest = fstest.MapFS{
	"a.txt":     {Data: []byte("alpha\n"), Mode: 0o644},
	"sub/b.txt": {Data: []byte("beta\n"), Mode: 0o644},
}

// web asks over two connections, in requests that are cut in the middle. After its answer
// each connection ends: how long a server keeps one open is measured by the wall clock.
var web = []step{
	{1, "GET /a.txt HTTP/1.1\r\nHo", ""},
	{2, "GET /sub/b.txt HTTP/1.1\r\n", ""},
	{1, "st: 127.0.0.1\r\nConnection: close\r\n\r\n", "\r\n\r\nalpha\n"},
	{3, "HEAD /missing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", " 404 "},
	{2, "Host: 127.0.0.1\r\nConnection: close\r\n\r\n", "\r\n\r\nbeta\n"},
}

// webKept asks several times over one connection.
var webKept = []step{
	{1, "GET /a.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "\r\n\r\nalpha\n"},
	{2, "GET /sub/b.txt HTTP/1.1\r\n", ""},
	{1, "HEAD /missing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", " 404 "},
	{2, "Host: 127.0.0.1\r\n\r\n", "\r\n\r\nbeta\n"},
	{1, "GET /sub/b.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=1-2\r\n\r\n", "\r\n\r\net"},
}

// webFound is the same for merecat, which keeps a connection only where it is asked to.
var webFound = []step{
	{1, get("/a.txt"), "\r\n\r\nalpha\n"},
	{2, get("/sub/b.txt")[:20], ""},
	{1, get("/sub/b.txt"), "\r\n\r\nbeta\n"},
	{2, get("/sub/b.txt")[20:], "\r\n\r\nbeta\n"},
	{3, get("/missing"), " 404 "},
	{1, get("/a.txt"), "\r\n\r\nalpha\n"},
}

var redisDialogue = []step{
	{1, "MULTI\r\nSET a 1\r\n", "+OK\r\n+QUEUED\r\n"},
	{2, "SET a 5\r\nINCR a\r\n", "+OK\r\n:6\r\n"},
	{1, "INCR a\r\n", "+QUEUED\r\n"},
	{2, "SUBSCRIBE news\r\n", "subscribe"},
	{1, "EXEC\r\n", "*2\r\n+OK\r\n:2\r\n"},
	{1, "PUBLISH news x\r\n", "message"},
	{1, "GET a\r\n", "$1\r\n2\r\n"},
}

var memcachedDialogue = []step{
	{1, "set a 0 0 1\r\n1\r\n", "STORED\r\n"},
	{2, "set b 7 0 3\r\n", ""},
	{1, "gets a\r\n", "VALUE a 0 1 "}, // followed by a number that depends on the version
	{2, "xyz\r\n", "STORED\r\n"},
	{1, "replace a 0 0 1\r\n2\r\n", "STORED\r\n"},
	{2, "cas a 0 0 1 99\r\n3\r\n", "EXISTS\r\n"},
	{1, "incr a 5\r\nget a b\r\n", "7\r\nVALUE a 0 1\r\n7\r\nVALUE b 7 3\r\nxyz\r\nEND\r\n"},
}

// mqtt makes a packet of MQTT 3.1.1.
func mqtt(kind byte, body string) string { return string([]byte{kind, byte(len(body))}) + body }

// field is a text of MQTT, with its length before it.
func field(s string) string { return string([]byte{byte(len(s) >> 8), byte(len(s))}) + s }

var mqttDialogue = []step{
	{1, mqtt(0x10, field("MQTT")+"\x04\x02\x00\x00"+field("one")), "\x20\x02\x00\x00"},
	{2, mqtt(0x10, field("MQTT")+"\x04\x02\x00\x00"+field("two")), "\x20\x02\x00\x00"},
	{1, mqtt(0x82, "\x00\x01"+field("news/#")+"\x01"), "\x90\x03\x00\x01\x01"},
	{2, mqtt(0x32, field("news/local")+"\x00\x02"+"hello"),
		mqtt(0x32, field("news/local")+"\x00\x01"+"hello")},
	{1, mqtt(0x40, "\x00\x01"), ""},
	{2, mqtt(0x31, field("news/kept")+"kept"), ""},
	{1, mqtt(0xc0, ""), "\xd0\x00"},
}

// sshPacket is a packet before there are keys (RFC 4253, section 6).
func sshPacket(payload string) string {
	padding := 8 - (5+len(payload))%8
	if padding < 4 {
		padding += 8
	}
	length := 1 + len(payload) + padding
	return string([]byte{0, 0, byte(length >> 8), byte(length), byte(padding)}) + payload +
		strings.Repeat("\x00", padding)
}

func sshField(s string) string { return "\x00\x00" + field(s) }

// sshInit is a client's KEXINIT, with one algorithm of each kind.
var sshInit = sshPacket("\x14" + strings.Repeat("c", 16) +
	sshField("curve25519-sha256") + sshField("ssh-ed25519") +
	sshField("aes128-ctr") + sshField("aes128-ctr") + sshField("hmac-sha2-256") + sshField("hmac-sha2-256") +
	sshField("none") + sshField("none") + sshField("") + sshField("") + "\x00" + "\x00\x00\x00\x00")

// sshDialogue exchanges keys over two connections. The client's public key is a point of
// the curve that anybody may choose.
var sshDialogue = []step{
	{1, "SSH-2.0-test\r\n", "SSH-2.0-"},
	{2, "SSH-2.0-te", ""},
	{1, sshInit, ""},
	{1, sshPacket("\x1e" + sshField("\x09"+strings.Repeat("\x00", 31))), "ssh-ed25519"},
	{2, "st\r\n" + sshInit, ""},
	{2, sshPacket("\x1e" + sshField("\x10"+strings.Repeat("\x00", 31))), "ssh-ed25519"},
}

var profileDialogues = []profileDialogue{
	{profile: "dropbear", choices: 1, steps: sshDialogue},
	{profile: "dropbear-inetd", choices: 1, steps: sshDialogue},
	{profile: "go", program: "../examples/alphabet/server",
		arguments: []string{"-history", "-addr", "127.0.0.1:8080"}, steps: []step{
			{1, "0\n", "a a\n"}, {2, "1", ""}, {1, "2\nx\n", "c ac\nerror"}, {2, "2\n", "m acm\n"},
			{1, "1\n", "b acmb\n"},
		}},
	{profile: "lighttpd", steps: webKept, masked: date},
	{profile: "memcached", steps: memcachedDialogue},
	{profile: "merecat", steps: webFound},
	{profile: "mini-httpd", steps: web, masked: date},
	{profile: "mosquitto", steps: mqttDialogue},
	{profile: "nginx", steps: webKept, masked: date},
	{profile: "python", steps: web, masked: date},
	{profile: "redis", steps: redisDialogue},
	{profile: "sshd", choices: 1, steps: sshDialogue},
	{profile: "thttpd", steps: webFound},
}

// TestEveryProfileHasADialogue keeps the table complete.
func TestEveryProfileHasADialogue(t *testing.T) {
	has := map[string]bool{}
	for _, d := range slices.Concat(profileDialogues, serverDialogues) {
		has[d.profile] = true
	}
	for _, d := range askingDialogues {
		has[d.profile] = true
	}
	for _, p := range peers.Profiles() {
		if !has[p.Name] {
			t.Errorf("the profile %s is not tested: give it a dialogue", p.Name)
		}
	}
}

func TestProfilesGoBackWithinADialogue(t *testing.T) {
	for i, d := range slices.Concat(profileDialogues, serverDialogues) {
		p, err := peers.FindProfile(d.profile)
		if err != nil {
			t.Fatal(err)
		}
		var images map[string]int // of the first of these
		for _, backend := range []string{BackendAuto, BackendCRIU} {
			t.Run(d.profile+"/"+backend, func(t *testing.T) {
				if why := cmp.Or(d.notByCRIU, d.notBack); backend == BackendCRIU && why != "" {
					t.Skip(why)
				}
				if backend == BackendCRIU && images[BackendCRIU] > 0 && images[BackendMemory] == 0 && !*deep {
					t.Skip("it is saved by CRIU in any case")
				}
				if d.profile == "rabbitmq" && !*deep {
					t.Skip("make deep starts it, which takes ten seconds")
				}
				if some := i%4 == 0 && i < len(profileDialogues); backend == BackendCRIU && !some && !*deep {
					t.Skip("make deep has CRIU save it, too")
				}
				if _, err := os.Stat(p.Program); p.Package == "" && p.Program != "" &&
					errors.Is(err, os.ErrNotExist) {
					t.Skipf("%s is not installed: %s", p.Program, p.Advice)
				}
				images = d.run(t, p, spawn(t, Options{Backend: backend}))
			})
		}
	}
}

// group starts the profile's peer.
func (d profileDialogue) group(t *testing.T, p peers.Profile, c *Client) (*Group, netip.AddrPort) {
	parameters := peers.Parameters{Arguments: d.arguments}
	if d.program != "" {
		parameters.Program = build(t, d.program)
	}
	if strings.Contains(p.Serves, "pages") {
		parameters.Directory = pagesOfTest
	}
	description, err := p.Expand(parameters)
	if err != nil {
		t.Fatal(err)
	}
	description.Peers[0].Choices = max(description.Peers[0].Choices, d.choices)
	return start(t, c, description), netip.MustParseAddrPort(description.Peers[0].Listen)
}

// build makes a static program.
func build(t *testing.T, pkg string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return testkit.ReadFile(t, file)
}

// run has the dialogue undisturbed, from a first checkpoint on; then again, with a
// checkpoint before each step, to which the peer goes back at once; then from every other one
// of those checkpoints to the end, or with -deep from each. It returns how many images each backend
// has taken.
func (d profileDialogue) run(t *testing.T, p peers.Profile, c *Client) map[string]int {
	r := &rehearsal{t: t, dialogue: d, ended: map[proxy.ID]int{}}
	r.start = func() { r.group, r.address = d.group(t, p, c) }
	r.start()
	if d.notBack != "" {
		for n := range d.steps {
			r.step(n, "undisturbed")
		}
		t.Skip("it was had once, and the group cannot go back: ", d.notBack)
	}
	first := r.checkpoint(0)
	for n := range d.steps {
		r.step(n, "undisturbed")
	}
	r.goBack(first, 0)
	var images []Image
	for n := range d.steps {
		images = append(images, r.checkpoint(n))
		r.goBack(images[n], n)
		r.step(n, "restored before each step")
	}
	every := 2
	if *deep {
		every = 1
	}
	for from := len(images) - 1; from >= 0; from -= every {
		r.goBack(images[from], from)
		for n := from; n < len(images); n++ {
			r.step(n, fmt.Sprintf("restored before step %d", from))
		}
	}
	t.Logf("images: %v, gone: %d, saved only once restored: %d", r.images, r.gone, r.unsavable)
	return r.images
}

// rehearsal runs a dialogue and compares its answers with those of the first time.
type rehearsal struct {
	t        *testing.T
	dialogue profileDialogue
	group    *Group
	address  netip.AddrPort
	open     []*conversation // in the order in which they were made
	answers  []string
	ended    map[proxy.ID]int // by which step a connection had ended
	start    func()
	images   map[string]int // by backend
	gone     int

	saved    bool
	last     Image // the newest
	lastStep int   // before which it was saved
	// times that the group could not be saved before it had been taken back to the newest image
	unsavable int
}

// checkpoint saves the group before step n. Where that is possible only in an incarnation that was
// restored for CRIU, it makes such a one, as a check does.
func (r *rehearsal) checkpoint(n int) Image {
	r.t.Helper()
	image, err := r.group.Checkpoint(testContext(r.t))
	if errors.Is(err, ErrUnsavable) && r.saved {
		r.unsavable++
		r.goBack(r.last, r.lastStep)
		for earlier := r.lastStep; earlier < n; earlier++ {
			r.step(earlier, "restored for CRIU")
		}
		image, err = r.group.Checkpoint(testContext(r.t))
	}
	if err != nil {
		r.t.Fatalf("before step %d: %v", n, err)
	}
	r.saved, r.last, r.lastStep = true, image, n
	if r.images == nil {
		r.images = map[string]int{}
	}
	r.images[image.Backend]++
	return image
}

// goBack restores what was saved before step n. Where the image is gone, as can be with
// the backend auto, it does what a check does: the peer is started anew, and is told all
// before step n again.
func (r *rehearsal) goBack(image Image, n int) {
	r.t.Helper()
	err := r.group.Restore(testContext(r.t), image.ID)
	switch {
	case err == nil:
		r.reconnect(n)
	case errors.Is(err, ErrImageGone):
		r.gone++
		if err := r.group.Close(); err != nil {
			r.t.Fatal(err)
		}
		r.reconnect(0)
		r.start()
		for earlier := range n {
			r.step(earlier, "started anew")
		}
	default:
		r.t.Fatalf("back before step %d: %v", n, err)
	}
}

// reconnect obtains the connections that were open before step n.
func (r *rehearsal) reconnect(n int) {
	for _, c := range r.open {
		unix.Close(c.fd)
	}
	r.open = nil
	for _, s := range r.dialogue.steps[:n] {
		if r.connection(s.connection) == nil {
			c := r.add(s.connection)
			at, ended := r.ended[s.connection]
			c.ended = ended && at < n
		}
	}
}

func (r *rehearsal) connection(id proxy.ID) *conversation {
	for _, c := range r.open {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (r *rehearsal) add(id proxy.ID) *conversation {
	c := &conversation{t: r.t, group: r.group, id: id}
	c.obtain()
	r.open = append(r.open, c)
	return c
}

// step makes a connection, if need be, sends the request and compares what comes back on
// all connections.
func (r *rehearsal) step(n int, how string) {
	r.t.Helper()
	s := r.dialogue.steps[n]
	c, answer := r.connection(s.connection), ""
	if c == nil {
		c = r.add(s.connection)
		if err := r.group.Proxy().Connect(testContext(r.t), c.id, r.address); err != nil {
			r.t.Fatal(err)
		}
		answer = r.listen()
	}
	if written, err := unix.Write(c.fd, []byte(s.request)); err != nil || written != len(s.request) {
		r.t.Fatalf("%s, step %d: wrote %d bytes of %q: %v", how, n, written, s.request, err)
	}
	for answer += r.listen(); r.dialogue.slow && !strings.Contains(answer, s.want); {
		time.Sleep(time.Millisecond) // until the test's time is up
		answer += r.listen()
	}
	for _, c := range r.open {
		if _, known := r.ended[c.id]; c.ended && !known {
			r.ended[c.id] = n
		}
	}
	if r.dialogue.masked != nil {
		answer = r.dialogue.masked.ReplaceAllString(answer, "")
	}
	if !strings.Contains(answer, s.want) {
		r.t.Fatalf("%s, step %d: %q does not hold %q%s", how, n, answer, s.want, r.group.lastWords())
	}
	if n == len(r.answers) {
		r.answers = append(r.answers, answer)
	} else if answer != r.answers[n] {
		r.t.Fatalf("%s, step %d: %q, and undisturbed %q%s", how, n, answer, r.answers[n], r.group.lastWords())
	}
}

// listen returns what comes on the connections until the group is quiescent.
func (r *rehearsal) listen() string {
	r.t.Helper()
	arrived := map[proxy.ID]string{}
	b := make([]byte, 64<<10)
	err := r.group.Quiesce(testContext(r.t), func() (progress bool, err error) {
		for _, c := range r.open {
			n, err := unix.Read(c.fd, b)
			switch {
			case err == unix.EAGAIN || c.ended:
			case err != nil:
				return false, fmt.Errorf("connection %d: %w", c.id, err)
			default:
				progress, c.ended = true, n == 0
				arrived[c.id] += string(b[:n])
				if c.ended {
					arrived[c.id] += "(end)"
				}
			}
		}
		return progress, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var all strings.Builder
	for _, c := range r.open {
		if arrived[c.id] != "" {
			fmt.Fprintf(&all, "connection %d: %s\n", c.id, arrived[c.id])
		}
	}
	return all.String()
}

// TestSSHProfilesLetIn: whoever has a key in the directory that is given logs in, with a
// checkpoint before everything that the client sends.
func TestSSHProfilesLetIn(t *testing.T) {
	home := fstest.MapFS{".ssh/authorized_keys": {Data: testkit.ReadFile(t,
		exampleKeys+"throwaway_user_key.pub")}}
	for _, name := range []string{"dropbear", "dropbear-inetd", "sshd"} {
		t.Run(name, func(t *testing.T) {
			p, err := peers.FindProfile(name)
			if err != nil {
				t.Fatal(err)
			}
			description, err := p.Expand(peers.Parameters{Directory: home})
			if err != nil {
				t.Fatal(err)
			}
			g := start(t, spawn(t, Options{Backend: BackendAuto}), description)
			talk := &conversation{t: t, group: g, id: 1}
			talk.obtain()
			if err := g.Proxy().Connect(testContext(t), 1, dropbearAddress); err != nil {
				t.Fatal(err)
			}
			if got, want := login(t, newRecorder(talk), "cat .ssh/authorized_keys"),
				string(home[".ssh/authorized_keys"].Data); got != want {
				t.Errorf("the command answered %q, not %q", got, want)
			}
		})
	}
}
