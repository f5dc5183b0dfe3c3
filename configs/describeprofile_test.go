package configs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/peers"
)

// expanded is a profile's group with defaults as a configuration fills them in.
func expanded(t *testing.T, name string, a peers.Parameters) peers.Group {
	t.Helper()
	p, err := peers.FindProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Expand(a)
	if err != nil {
		t.Fatal(err)
	}
	return peers.Group{ReadyTimeout: peers.DefaultReadyTimeout}.Merge(g)
}

// TestProfilesAsTheyArePrinted: what is printed of a profile is the profile.
func TestProfilesAsTheyArePrinted(t *testing.T) {
	for _, p := range peers.Profiles() {
		text, err := ProfileYAML(p)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		got, err := parse("x.yaml", text, named)
		if err != nil {
			t.Errorf("%s: %v\n%s", p.Name, err, text)
			continue
		}
		short, err := parse("x.yaml", []byte("peers: [{profile: "+p.Name+", program: program}]"), named)
		if err != nil && p.Program == "" {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Program != "" {
			if short, err = parse("x.yaml", []byte("peers: [{profile: "+p.Name+"}]"), named); err != nil {
				t.Errorf("%s: %v", p.Name, err)
				continue
			}
		}
		if diff := cmp.Diff(short, got); diff != "" {
			t.Errorf("%s (-short +printed)\n%s\n%s", p.Name, diff, text)
		}
		// sshd has three host keys, Dovecot a configuration for each of two versions.
		if bytes.Count(text, []byte("\n")) > 120 {
			t.Errorf("%s: what it stands for is no page:\n%s", p.Name, text)
		}
	}
}

func TestProfilesInAFile(t *testing.T) {
	for text, want := range map[string]peers.Group{
		"peers: [{profile: redis}]": expanded(t, "redis",
			peers.Parameters{}),
		"peers: [{profile: redis, name: db, port: 1}]": expanded(t, "redis",
			peers.Parameters{Name: "db", Port: 1}),
		"peers: [{profile: merecat, directory: directory, arguments: [-x]}]": expanded(t, "merecat",
			peers.Parameters{Directory: named.tree("directory"), Arguments: []string{"-x"}}),
		"peers: [{profile: go, program: p}]": expanded(t, "go",
			peers.Parameters{Program: []byte("p")}),
		"peers: [{profile: redis}]\nfiles: [{path: redis/redis.conf, content: x}]": changed(expanded(t,
			"redis", peers.Parameters{}), func(g *peers.Group) {
			g.Files = []peers.File{{Path: "redis/redis.conf", Content: []byte("x")}}
		}),
		"peers: [{profile: go, program: p, working_directory: /srv}]": changed(expanded(t, "go",
			peers.Parameters{Program: []byte("p")}), func(g *peers.Group) { g.Peers[0].Directory = "/srv" }),
		"peers: [{profile: sshd}]\nbinds: {/root: /home}": changed(expanded(t,
			"sshd", peers.Parameters{}), func(g *peers.Group) { g.Binds["/root"] = "/home" }),
		"peers: [{profile: python, env: {PORT: 1, X: y}, " +
			"command: [a], listen: '127.0.0.1:5', choices: 2}]": changed(expanded(t,
			"python", peers.Parameters{}), func(g *peers.Group) {
			g.Peers[0] = peers.Peer{
				Name: "python", Command: []string{"a"}, Listen: "127.0.0.1:5", Choices: 2,
				Env: []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", "PORT=1",
					"X=y"},
			}
		}),
		"peers: [{profile: curl, port: 90, after: listen 91, expect: exit 22}]": changed(expanded(t, "curl",
			peers.Parameters{Port: 90}), func(g *peers.Group) {
			g.Peers[0].After,
				g.Peers[0].Expect = "listen 91", "exit 22"
		}),
		"peers: [{profile: curl, after: listen 91}]": expanded(t, "curl",
			peers.Parameters{Port: 91}),
		"peers: [{profile: redis, listen: '127.0.0.1:7000'}]": expanded(t, "redis",
			peers.Parameters{Port: 7000}),
		"peers: [{profile: redis-cli, program: p, expect: any}]": changed(expanded(t,
			"redis-cli", peers.Parameters{Program: []byte("p")}),
			func(g *peers.Group) { g.Peers[0].Expect = "" }),
		"peers: [{name: a, command: [a]}]\nfiles: [{path: x, from: directory}]": {
			Peers: []peers.Peer{{Name: "a", Command: []string{"a"}}}, ReadyTimeout: peers.DefaultReadyTimeout,
			Binds: map[string]string{},
			Files: []peers.File{{Path: "x/index.html", Content: []byte("<p>"), Mode: 0o644},
				{Path: "x/sub/run", Content: []byte("run"), Mode: 0o755}},
		},
	} {
		got, err := parse("x.yaml", []byte(text), named)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if diff := cmp.Diff(want, *got.Group); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func changed(g peers.Group, change func(*peers.Group)) peers.Group {
	change(&g)
	return g
}

func TestBadProfiles(t *testing.T) {
	for text, want := range map[string]string{
		"peers:\n- {profile: redsi}": `x.yaml:2: peers[0].profile: ` +
			`there is no profile "redsi": choose one of apache, `,
		"peers:\n- {profile: redis, port: 0}": "x.yaml:2: peers[0].port: 0 is " +
			"not allowed",
		"peers:\n- {profile: redis, port: 70000}": "x.yaml:2: peers[0].profile: " +
			"profile redis: port 70000 is not allowed",
		"peers:\n- {profile: redis, directory: directory}": "x.yaml:2: peers[0].profile: " +
			"profile redis: it takes no directory",
		"peers:\n- {profile: merecat, directory: elsewhere}": "x.yaml:2: peers[0].directory: " +
			"there is no directory elsewhere",
		"peers:\n- {profile: curl, command: [a], arguments: [b]}": "x.yaml:2: peers[0].arguments: " +
			"the command is used as it is",
		"peers:\n- {profile: redis, listen: '127.0.0.1:07000'}": `x.yaml:2: peers[0]: peer redis: ` +
			`write listen "127.0.0.1:07000" as 127.0.0.1:7000`,
		"peers:\n- {profile: go}": "x.yaml:2: peers[0].profile: " +
			"profile go: it needs a program",
		"peers:\n- {name: a, command: [a], port: 1}": "x.yaml:2: peers[0].port: it is " +
			"for a profile",
		"peers:\n- {name: a, command: [a], arguments: [x]}": "x.yaml:2: peers[0].arguments: it " +
			"is for a profile",
		"peers:\n- {profile: redis}\n- {profile: redis, port: 1}": `x.yaml:3: peers[1]: the name ` +
			`"redis" is taken`,
		"peers:\n- {profile: redis}\n- {profile: redis, name: b}": "x.yaml:3: peers[1].listen: " +
			"127.0.0.1:6379 is where peers[0] listens",
		"peers: [{profile: redis}]\nfiles:\n- {path: x, base64: '?'}": "x.yaml:3: files[0].base64: this " +
			"is not in base 64",
		"peers: [{profile: redis}]\nfiles:\n- {path: x, base64: eA==, content: x}": "x.yaml:3: files[0]: " +
			"give either content",
		"peers: [{profile: redis}]\nfiles:\n- {path: x, from: directory, mode: 7}": "x.yaml:3: " +
			"files[0].mode: directory is a directory, whose files keep their modes",
	} {
		_, err := parse("x.yaml", []byte(text), named)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\nerror %v, want one that begins with %q", text, err, want)
		}
	}
}

// TestDescriptions: a description is a configuration, and says how to write it with the profile.
func TestDescriptions(t *testing.T) {
	for _, p := range peers.Profiles() {
		text, err := DescribeProfile(p.Name, "It is there.")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"\n#     - profile: " + p.Name + "\n",
			fmt.Sprintf("\n#       port: NUMBER          # %d", p.Port),
			" It is there.\n",
			"\npeers:\n",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %q is missing in\n%s", p.Name, want, text)
			}
		}
		if options := strings.Count(string(text), "#       program: FILE"); (options > 0) != (p.Runs != "") {
			t.Errorf("%s runs %q, and the description is\n%s", p.Name, p.Runs, text)
		}
		read := func(string) ([]byte, error) { return []byte("a program"), nil }
		nothing := func(string) fs.FS { return nil }
		if _, err := parse("x.yaml", text, beside{read: read, tree: nothing}); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if _, err := DescribeProfile("redsi", ""); err == nil ||
		!strings.Contains(err.Error(), `no profile "redsi"`) {
		t.Errorf("an unknown profile: %v", err)
	}
}

// TestKnownHosts: host keys are for the address at which the profile listens, and other profiles
// have none.
func TestKnownHosts(t *testing.T) {
	text, err := KnownHosts("sshd")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if err != nil || len(lines) != 3 {
		t.Fatalf("%q, %v", text, err)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "[127.0.0.1]:2222 ") || len(strings.Fields(line)) < 3 {
			t.Errorf("a line %q", line)
		}
	}
	const pem = "-----BEGIN OPENSSH PRIVATE KEY"
	if key, err := ClientKey("sshd"); err != nil || !strings.HasPrefix(key, pem) {
		t.Errorf("%q, %v", key, err)
	}
	for name, want := range map[string]string{"redis": "it is no SSH server", "redsi": "no profile"} {
		if _, err := KnownHosts(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ClientKey(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadFrom: a directory may have a configuration, and need not.
func TestLoadFrom(t *testing.T) {
	dir := t.TempDir()
	if c, err := LoadFrom(dir); err != nil || !cmp.Equal(c, Default()) {
		t.Errorf("without a file: %+v, %v", c, err)
	}
	file := filepath.Join(dir, "tandem.yaml")
	if err := os.WriteFile(file, []byte("workers: 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := LoadFrom(dir); err != nil || c.Workers != 3 {
		t.Errorf("with a file: %+v, %v", c, err)
	}
	// as a package that is named by its file
	if c, err := LoadFrom(file); err != nil || !cmp.Equal(c, Default()) {
		t.Errorf("in a file: %+v, %v", c, err)
	}
	if err := os.WriteFile(file, []byte("workers: many"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFrom(dir); err == nil || !strings.Contains(err.Error(), "tandem.yaml:1: workers: ") {
		t.Errorf("with a wrong file: %v", err)
	}
	other := filepath.Join(dir, "tandem.yml")
	if err := os.WriteFile(other, []byte("workers: 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFrom(dir); err == nil || !strings.Contains(err.Error(), "are both there: remove one") {
		t.Errorf("with two files: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c, err := LoadFrom(dir); err != nil || c.Workers != 2 {
		t.Errorf("with the other name: %+v, %v", c, err)
	}
}
