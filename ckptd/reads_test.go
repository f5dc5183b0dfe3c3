package ckptd

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
)

// counted sums up what was read since the last call. It fails where a process is uninstrumented.
func counted(t *testing.T, g *Group) string {
	t.Helper()
	r, err := g.Reads()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Uninstrumented) > 0 {
		t.Fatalf("nobody knows what these have read: %q", r.Uninstrumented)
	}
	s := shim.Summary{}
	s.Add(r.Counted)
	return s.String()
}

// TestReadsOfDropbear is about a peer that forks, before and after it has gone back.
func TestReadsOfDropbear(t *testing.T) { bothBackends(t, readsOfDropbear) }

func readsOfDropbear(t *testing.T, c *Client) {
	g := start(t, c, dropbear(t))
	counted(t, g) // when it started
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if got := counted(t, g); got != "" {
			t.Errorf("round %d: without any input they read: %s", round, got)
		}
		talk := &conversation{t: t, group: g, id: 1}
		talk.obtain()
		if err := g.Proxy().Connect(testContext(t), 1, dropbearAddress); err != nil {
			t.Fatal(err)
		}
		if talk.listen(); !strings.Contains(counted(t, g), "getrandom") {
			t.Errorf("round %d: Dropbear has read no random numbers for its KEXINIT", round)
		}
		if got := talk.ask("SSH-2.0-x\r\n"); got != "" || counted(t, g) != "" {
			t.Errorf("round %d: Dropbear answers a version with %q", round, got)
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadsOfMerecat(t *testing.T) { bothBackends(t, readsOfMerecat) }

func readsOfMerecat(t *testing.T, c *Client) {
	g := start(t, c, merecat())
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	image, err := g.Checkpoint(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	counted(t, g)
	for round := range 3 {
		talk.ask(get("/a.txt"))
		if got := counted(t, g); !strings.HasPrefix(got, "merecat: ") || !strings.Contains(got, "time") {
			t.Errorf("round %d: for an answer with a date merecat has read: %q", round, got)
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
	}
}

// TestReadsOfProgramsThatAPeerExecutes: whatever a peer executes counts too, without
// any environment, and what cannot be counted is named.
func TestReadsOfProgramsThatAPeerExecutes(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, shell("env -i head -c 4 /dev/urandom >random; env -i date >date"+forever))
	if got := counted(t, g); !strings.Contains(got, "/dev/urandom") ||
		!strings.Contains(got, "clock_gettime") {
		t.Errorf("a shell whose children read a random number and the time: %q", got)
	}
}

// alphabetServer is a group with a static server in Go that reads /dev/urandom.
func alphabetServer(t *testing.T) peers.Group {
	t.Helper()
	server := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", server, "../examples/alphabet/server")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return peers.Group{
		Peers: []peers.Peer{{Name: "server", Command: []string{"{scratch}/server", "-random"},
			Listen: "127.0.0.1:7000"}},
		Files: []peers.File{{Path: "server", Content: testkit.ReadFile(t, server), Mode: 0o755}},
	}
}

func TestUninstrumentedPeers(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, alphabetServer(t))
	r, err := g.Reads()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Uninstrumented) != 1 ||
		!strings.Contains(r.Uninstrumented[0].String(), "/run/tandem/server (it is a Go program") {
		t.Errorf("of a static Go server it is said: %q", r.Uninstrumented)
	}
}

// TestUninstrumentedPeersBesideChosenOnes: only what is chosen has to be under control.
func TestUninstrumentedPeersBesideChosenOnes(t *testing.T) {
	c := spawn(t, Options{})
	group, other := alphabetServer(t), merecat()
	group.Peers, group.Files = append(group.Peers, other.Peers...), append(group.Files, other.Files...)
	for chosen := range 2 {
		group.Peers[0].Choices, group.Peers[1].Choices = 1-chosen, chosen
		g := start(t, c, group)
		r, err := g.Reads()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Uninstrumented) != chosen ||
			chosen == 1 && (r.Uninstrumented[0].Peer != "peer server" || r.Uninstrumented[0].Chosen) {
			t.Errorf("with %s chosen, it is said: %+v", group.Peers[chosen].Name, r.Uninstrumented)
		}
		for _, read := range r.Counted {
			if read.Chosen != (chosen == 1) || read.Peer != "merecat" {
				t.Errorf("with %s chosen, there is %+v", group.Peers[chosen].Name, read)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
