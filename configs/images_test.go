package configs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/testkit/containers"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
)

// described is what a test has as an image, whatever its name is; none has no program, and bad is
// no image.
func described(source string) (image.Description, error) {
	d := image.Description{Reference: image.Reference{Source: source, Digest: "sha256:1"},
		Entrypoint: []string{"entry"}, Cmd: []string{"cmd"}, Env: []string{"A=1", "B=2"}, Directory: "/srv",
		User: "web", Group: "others"}
	switch source {
	case "none":
		d.Entrypoint, d.Cmd = nil, nil
	case "bad":
		return d, errors.New("bad is no container image: write one")
	}
	return d, nil
}

// TestPeersOfImages: what an image says is what the peer has, unless the entry says otherwise.
func TestPeersOfImages(t *testing.T) {
	own := peers.Peer{Name: "a", Command: []string{"entry", "cmd"}, Env: []string{"A=1", "B=2"},
		Directory: "/srv", User: "web", Group: "others",
		Image: image.Reference{Source: "i", Digest: "sha256:1"}}
	with := func(change func(p *peers.Peer)) peers.Peer {
		p := own
		change(&p)
		return p
	}
	for text, want := range map[string]peers.Peer{
		"":               own,
		"arguments: [x]": with(func(p *peers.Peer) { p.Command = []string{"entry", "x"} }),
		"arguments: []":  with(func(p *peers.Peer) { p.Command = []string{"entry"} }),
		"command: [x]":   with(func(p *peers.Peer) { p.Command = []string{"x"} }),
		"env: {B: x}":    with(func(p *peers.Peer) { p.Env = []string{"A=1", "B=x"} }),
		"user: root":     with(func(p *peers.Peer) { p.User, p.Group = "root", "" }),
		"working_directory: /x, listen: 127.0.0.1:80": with(func(p *peers.Peer) {
			p.Directory, p.Listen = "/x", "127.0.0.1:80"
		}),
	} {
		c, err := parse("x.yaml", []byte("peers: [{name: a, image: i, "+text+"}]"), beside{image: described})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, c.Group.Peers[0]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

// TestBadImages: what is wrong with an image, or does not go with it, has the line of its key.
func TestBadImages(t *testing.T) {
	for text, want := range map[string]string{
		"image: bad": "x.yaml:3: peers[0].image: bad is no container image: write one",
		"image: none": "x.yaml:3: peers[0].image: none says no command to run: give one " +
			"under command",
		"image: i\n  profile: redis": "x.yaml:3: peers[0].image: a profile is run with the files of this " +
			"machine: give one of image and profile",
		"image: i\n  port: 80": "x.yaml:4: peers[0].port: it is for a profile: name one under " +
			"profile, or say it in the command",
		"image: i\n  command: [a]\n  arguments: [b]": "x.yaml:5: peers[0].arguments: the command is used " +
			"as it is, instead of that of the image: add " +
			"them to it",
	} {
		_, err := parse("x.yaml", []byte("peers:\n- name: a\n  "+text), beside{image: described})
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := parse("x.yaml", []byte("peers: [{name: a, image: none, command: [x]}]"),
		beside{image: described}); err != nil {
		t.Errorf("a command for an image without one: %v", err)
	}
}

// TestImageBesideTheFile: a path is one beside the file, and absolute in what is printed. Names of
// images of an engine stay as they are.
func TestImageBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	i := containers.Image{Config: containers.Config{Cmd: []string{"server"}}}
	id, err := i.ID()
	if err == nil {
		err = i.Save(filepath.Join(dir, "web.tar"))
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tandem.yaml")
	if err := os.WriteFile(file, []byte("peers: [{name: a, image: web.tar}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := image.Reference{Source: filepath.Join(dir, "web.tar"), Digest: id}
	if got := c.Group.Peers[0].Image; got != want {
		t.Errorf("the image is %+v, want %+v", got, want)
	}
	for written, shown := range map[string]string{"web.tar": filepath.Join(dir, "web.tar"),
		"engine:a:1": "engine:a:1"} {
		if err := os.WriteFile(file, []byte("peers: [{name: a, image: '"+written+"'}]\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		keys, _, err := keysOf(file)
		if err != nil {
			t.Fatal(err)
		}
		node := keys["peers"].Content[0].Content[3]
		if node.Value != shown {
			t.Errorf("%s is shown as %s", written, node.Value)
		}
	}
}
