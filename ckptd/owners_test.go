package ckptd

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/peers"
)

// TestPeersOfOtherUsers: each runs as its user, has its files, and still does after a restore.
func TestPeersOfOtherUsers(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	const report = "id -u >who; id -g >>who; id -G >>who; echo $HOME >>who; echo written >>given; mkfifo " +
		"fifo; read x <>fifo; id -u >again; read x <>fifo"
	for name, x := range map[string]struct {
		group peers.Group
		want  string
	}{
		"user with groups": {asUser("nobody", "", report), "65534\n65534\n65534\n/nonexistent\n"},
		"user and group":   {asUser("nobody", "daemon", report), "65534\n1\n1\n/nonexistent\n"},
		"numbers":          {asUser("12345", "54321", report), "12345\n54321\n54321\n/\n"},
		"group of root":    {asUser("", "daemon", report), "0\n1\n1\n/root\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, c, x.group)
			defer g.Close()
			if got, err := os.ReadFile(inside(g, "/run/tandem/who")); err != nil || string(got) != x.want {
				t.Errorf("it runs as %q, %v, want %q", got, err, x.want)
			}
			image := savedGroup(t, g)
			for range 2 {
				if err := g.Restore(testContext(t), image); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(inside(g, "/run/tandem/fifo"), []byte("\n"), 0); err != nil {
					t.Fatal(err)
				}
				if err := g.Quiesce(testContext(t), nil); err != nil {
					t.Fatal(err)
				}
				uid, _, _ := strings.Cut(x.want, "\n")
				if got, err := os.ReadFile(inside(g, "/run/tandem/again")); err != nil ||
					string(got) != uid+"\n" {
					t.Errorf("after a restore it is user %q, %v, want %s", got, err, uid)
				}
			}
		})
	}
}

// asUser is a peer that runs a shell script in a directory with a file that is given to it.
func asUser(user, group, script string) peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{Name: "shell", User: user, Group: group,
			Command: []string{"sh", "-ec", script}}},
		Files: []peers.File{{Path: "given", Content: []byte("x"), Mode: 0o600}},
	}
}

// TestPeersOfSeveralUsers: the files of each are in the directory of its name, and all may make
// more.
func TestPeersOfSeveralUsers(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	g := peers.Group{Files: []peers.File{{Path: "one/given", Mode: 0o600}, {Path: "two/given", Mode: 0o600},
		{Path: "given"}}}
	for name, user := range map[string]string{"one": "nobody", "two": "daemon", "three": ""} {
		script := "cat {scratch}/given; echo >made-by-" + name + "; mkfifo fifo-" + name +
			"; read x <>fifo-" + name
		if user != "" {
			script = "cat {scratch}/" + name + "/given; " + script
		}
		g.Peers = append(g.Peers, peers.Peer{Name: name, User: user, Command: []string{"sh", "-ec", script}})
	}
	group := start(t, c, g)
	image := savedGroup(t, group)
	if err := group.Restore(testContext(t), image); err != nil {
		t.Error(err)
	}
	if written := strings.Join(group.Written(), ""); written != "" {
		t.Errorf("they write %q", written)
	}
}

func TestUserThatIsNotThere(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	for _, p := range []peers.Peer{{User: "no such user"}, {Group: "no such group"}, {User: "12345"},
		{User: "4294967295", Group: "1"}} {
		p.Name, p.Command = "shell", []string{"sh"}
		_, err := c.Start(testContext(t), peers.Group{Peers: []peers.Peer{p}})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "peer shell: ") {
			t.Errorf("user %q, group %q: %v", p.User, p.Group, err)
		}
	}
}
