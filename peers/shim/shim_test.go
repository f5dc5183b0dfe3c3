package shim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		defer func() {
			if directory, err := built(); err == nil {
				os.RemoveAll(directory)
			}
		}()
		return m.Run()
	}())
}

// built is a directory in which the library was built from its sources.
var built = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	directory, err := os.MkdirTemp("", "tandem-shim-test-")
	if err == nil {
		err = os.CopyFS(directory, sourceFiles)
	}
	if err == nil {
		err = compile(ctx, filepath.Join(directory, "src"), "nd")
	}
	return directory, err
})

// compileC makes a program of a source.
func compileC(t *testing.T, program, source string) {
	t.Helper()
	out, err := exec.Command("cc", "-O1", "-Wall", "-o", program, source, "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// build returns the library, and a file of counters that are all 0.
func build(t *testing.T) (library, counters string) {
	t.Helper()
	directory, err := built()
	if err != nil {
		t.Fatal(err)
	}
	counters = filepath.Join(t.TempDir(), "nd")
	if err := os.WriteFile(counters, make([]byte, CountersSize), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(directory, "src", "nd.so"), counters
}

func open(t *testing.T, file string) *Counters {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := OpenCounters(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// clockStart is when the clocks of those start that runWithShim executes.
var clockStart = time.Date(2031, time.May, 6, 7, 8, 9, 0, time.UTC)

// runWithShim executes a command of a shell as peer number 0 of some, and returns what it prints.
func runWithShim(t *testing.T, p peers.Peer, library, counters, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = Environment(p, 0, library, counters, clockStart)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestEnvironment(t *testing.T) {
	p := peers.Peer{Env: []string{"A=1", "LD_PRELOAD=/own.so"}, Choices: 2, Behaviour: 1}
	want := []string{"A=1", "LD_PRELOAD=/nd.so:/own.so", "TANDEM_ND=/nd 3 machine 1935817689 1"}
	if got := Environment(p, 3, "/nd.so", "/nd", clockStart); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShimIsBuiltOnce: the files stay, and their sources decide which they are.
func TestShimIsBuiltOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "shim")
	shim, err := Find(context.Background(), directory)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(shim.VDSO)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Find(context.Background(), directory)
	if err != nil || again != shim {
		t.Errorf("%v, then %v: %v", shim, again, err)
	}
	if after, err := os.Stat(shim.VDSO); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was built again: %v", err)
	}
	if entries, _ := os.ReadDir(directory); len(entries) != 2 {
		t.Errorf("building leaves %v", entries)
	}
}

// TestHashIsOfAllSources: each part that is included counts, and nothing else.
func TestHashIsOfAllSources(t *testing.T) {
	sources := fstest.MapFS{
		"src/nd.c":    {Data: []byte("#include <stdio.h>\n#include \"part.c\"\n")},
		"src/part.c":  {Data: []byte("int x;\n")},
		"src/other.c": {Data: []byte("int y;\n")},
	}
	seen := map[string]string{}
	for _, change := range []string{"nothing", "src/nd.c", "src/part.c"} {
		if f := sources[change]; f != nil {
			f.Data = append(slices.Clone(f.Data), "/* changed */\n"...)
		}
		hash, err := sourceHash(sources, "nd")
		if err != nil || seen[hash] != "" {
			t.Errorf("after a change of %s, as after one of %q: %v", change, seen[hash], err)
		}
		seen[hash] = change
	}
	before, err := sourceHash(sources, "nd")
	sources["src/other.c"].Data = nil
	if after, err2 := sourceHash(sources, "nd"); after != before || err != nil || err2 != nil {
		t.Errorf("a file that is not included counts: %v, %v", err, err2)
	}
	delete(sources, "src/part.c")
	if _, err := sourceHash(sources, "nd"); err == nil || !strings.Contains(fmt.Sprint(err), "part.c") {
		t.Errorf("a part is missing: %v", err)
	}
}
