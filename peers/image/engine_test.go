package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeEngine puts a command into the path that behaves like that of an engine with one image.
func fakeEngine(t *testing.T, name, inspect, save string) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s/asked\ncase \"$1 $2\" in\n\"image inspect\") "+
		"%s;;\nsave*) %s;;\n"+
		"*) exit 9;;\nesac\n", dir, inspect, save)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// TestEngine: what an engine says of an image, and saves, is described and extracted like an
// archive.
func TestEngine(t *testing.T) {
	dir := t.TempDir()
	id, err := small().ID()
	if err == nil {
		err = small().Save(dir + "/saved.tar")
	}
	if err != nil {
		t.Fatal(err)
	}
	// podman leaves the name of the algorithm out.
	for name, shown := range map[string]string{"docker": id, "podman": strings.TrimPrefix(id, "sha256:")} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`[{"Id": %q, "Os": "linux", "Architecture": "amd64", "Config": {"User": "web",
				"Cmd": ["-x"], "Entrypoint": ["tool"], "Env": ["A=b"],
					"ExposedPorts": {"80/tcp": {}}}}]`, shown)
			if err := os.WriteFile(dir+"/inspect.json", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			fakeEngine(t, name, "cat "+dir+"/inspect.json", "cat "+dir+"/saved.tar")
			d, err := Describe(t.Context(), "engine:web:1")
			if err != nil || d.Digest != id || d.User != "web" || strings.Join(d.Command(nil),
				" ") != "tool -x" {
				t.Fatalf("%+v, %v", d, err)
			}
			cache := t.TempDir()
			for range 2 {
				tree, err := Extract(t.Context(), d.Reference, cache)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := os.ReadFile(tree.Own() + "/etc/c"); err != nil || string(text) != "c" {
					t.Errorf("etc/c holds %q, %v", text, err)
				}
			}
			command, _, _ := strings.Cut(os.Getenv("PATH"), ":")
			asked, err := os.ReadFile(command + "/asked")
			if want := "image inspect web:1\nsave " + id + "\n"; err != nil || string(asked) != want {
				t.Errorf("the engine was asked %q, %v; want %q", asked, err, want)
			}
		})
	}
}

// TestEngineThatFails: an engine that is not there, or does not have the image, is named.
func TestEngineThatFails(t *testing.T) {
	id, err := small().ID()
	if err != nil {
		t.Fatal(err)
	}
	fakeEngine(t, "docker", "echo No such image >&2; exit 1", "echo no archive")
	_, err = Describe(t.Context(), "engine:none:1")
	want := "docker image inspect none:1: exit status 1: No such image; see whether the engine runs"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("no such image: %v", err)
	}
	_, err = Extract(t.Context(), Reference{"engine:web", id}, t.TempDir())
	if !errors.Is(err, ErrNotImage) {
		t.Errorf("what is saved is no archive: %v", err)
	}
	for name, want := range map[string]string{"": "there is no name of an image", "-v": "there is no name",
		"two": "the engine does not describe one image"} {
		fakeEngine(t, "docker", "echo '[{}, {}]'", "exit 1")
		if _, err := Describe(t.Context(), Engine+name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err = Describe(t.Context(), "engine:redis:7")
	if want := "there is neither docker nor podman in the path: install one"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("no engine: %v, want %q", err, want)
	}
}
