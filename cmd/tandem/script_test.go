package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tandem-mc/tandem/internal/testkit/containers"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
	"github.com/tandem-mc/tandem/internal/testkit/schema"
)

// tree holds a copy of the examples and, in bin, the binaries under test, side by
// side as they are installed.
var tree, bin string

var deep = flag.Bool("deep", false, "run more cases, as `make deep` does")

func TestMain(m *testing.M) {
	natsd.Main()
	dir, err := os.MkdirTemp("", "tandem-cmd-test-")
	if err == nil {
		tree, bin = dir, filepath.Join(dir, "bin")
		os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		err = errors.Join(os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")),
			buildBinaries())
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func buildBinaries() error {
	if err := os.Chmod(tree, 0o755); err != nil { // for the test that is not root
		return err
	}
	for name, pkg := range map[string]string{
		"tandem": ".", "tandem-ckptd": "../ckptd", "tandem-proxy": "../proxy",
		"alphabet-server": "../../examples/alphabet/server",
	} {
		cmd := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(bin, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// TestScripts runs tandem as a user does; each script is one conversation.
func TestScripts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"validjson": validJSON,
			"image": makeImage},
		Condition: condition,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("XDG_CACHE_HOME", cache)
			e.Setenv("GOMODCACHE", string(modules[:len(modules)-1]))
			e.Setenv("GOFLAGS", os.Getenv("GOFLAGS"))
			e.Setenv("BIN", bin)
			e.Setenv("REPOSITORY", repository)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
	})
}

// condition is what scripts can ask for: whether an ordinary user may make a user namespace here.
func condition(name string) (bool, error) {
	if name != "userns" {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	unshare := exec.Command("unshare", "--user", "--map-root-user", "--net", "true")
	unshare.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return unshare.Run() == nil, nil
}

// validJSON is the command "validjson FILE" of scripts: a result in JSON is as the schema says.
func validJSON(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: validjson FILE")
	}
	// Tests run in the directory of their package, and not in that of the script.
	problems, err := schema.Problems("../../docs/report.schema.json", []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	if problems != nil {
		ts.Fatalf("%s:\n%s", args[0], strings.Join(problems, "\n"))
	}
}

// makeImage is the command "image FORMAT PLACE" of scripts. It makes a container image of what this
// machine has: of merecat as an archive, as one with gzip or as a layout, or of a static server as
// an archive. PLACE.id gets the digest.
func makeImage(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: image FORMAT PLACE")
	}
	i, err := containers.Merecat()
	ts.Check(err)
	place := ts.MkAbs(args[1])
	switch args[0] {
	case "archive":
		err = i.Save(place)
	case "layout":
		err = containers.Layout(place, i)
	case "static":
		var server []byte
		server, err = os.ReadFile(filepath.Join(bin, "alphabet-server"))
		ts.Check(err)
		i = containers.Image{Layers: []containers.Layer{{{Name: "srv/server", Content: string(server),
			Mode: 0o755}}},
			Config: containers.Config{Cmd: []string{"/srv/server"}}}
		err = i.Save(place)
	default:
		ts.Fatalf("there is no format %s", args[0])
	}
	ts.Check(err)
	id, err := i.ID()
	ts.Check(err)
	ts.Check(os.WriteFile(place+".id", []byte(id), 0o600))
}
