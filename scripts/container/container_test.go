package container

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestContainer builds the image and uses it, as the documents say.
func TestContainer(t *testing.T) {
	if !*whole {
		return // TestMain says so
	}
	e := startEngine(t)
	t.Run("verdicts", func(t *testing.T) { compareVerdicts(t, e) })
	t.Run("old", func(t *testing.T) { tryOldImage(t, e) })
	t.Run("privileges", func(t *testing.T) { tryPrivileges(t, e) })
	t.Run("compose", func(t *testing.T) { tryCompose(t, e) })
	t.Run("jobs", func(t *testing.T) { tryJobs(t, e) })
	// The last one, since it takes the network from an engine that was started here.
	t.Run("distributed", func(t *testing.T) { tryDistributed(t, e) })
}

// result is what is deterministic in the result of a check.
type result struct {
	Verdict    string `json:"verdict"`
	Violations []struct {
		Rule        string `json:"rule"`
		Fingerprint string `json:"fingerprint"`
	} `json:"violations"`
	Counts struct {
		Executions  int `json:"executions"`
		Transitions int `json:"transitions"`
		Misses      int `json:"cache_misses"`
	} `json:"counts"`
}

// checked runs a check that prints JSON, and returns its result. A verdict is no error.
func checked(t *testing.T, c *exec.Cmd) (r result) {
	t.Helper()
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2) {
		t.Fatalf("%v: %v\n%s", c.Args, err, said.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return r
}

// compareVerdicts checks two examples in a container and outside. Where both have the same peers
// and the same Go, all that is deterministic is the same; else the verdicts are.
func compareVerdicts(t *testing.T, e *engine) {
	for _, example := range []struct{ name, peer, verdict string }{
		{"scpto", "dropbear", "violated"}, {"httpget", "merecat", "holds"},
	} {
		args := []string{"check", "./examples/" + example.name, "--json", "--date", "2026-01-31", "-o",
			filepath.Join(t.TempDir(), "counterexample")}
		c := exec.Command(filepath.Join(e.source, "bin", "tandem"), args...)
		c.Dir = e.source
		outside := checked(t, c)
		args[len(args)-1] = "/tmp/counterexample"
		began := time.Now()
		inside := checked(t, exec.Command("docker", e.arguments([]string{"--privileged"}, args...)...))
		t.Logf("%s: %s in %v: %+v", example.name, inside.Verdict,
			time.Since(began).Round(100*time.Millisecond), inside.Counts)
		if inside.Verdict != example.verdict || outside.Verdict != example.verdict {
			t.Errorf("%s: %s in the container, %s outside, want %s", example.name, inside.Verdict,
				outside.Verdict, example.verdict)
		}
		if !e.sameAsOutside(t, example.peer) {
			t.Logf("ONLY THE VERDICTS ARE COMPARED: %s or Go has another version outside", example.peer)
			continue
		}
		if inside.Counts != outside.Counts || !slices.Equal(inside.Violations, outside.Violations) {
			t.Errorf("%s: %+v in the container, %+v outside", example.name, inside, outside)
		}
	}
}

// sameAsOutside tells whether a peer and Go are the same files in the image and on this machine.
func (e *engine) sameAsOutside(t *testing.T, peer string) bool {
	script := "sha256sum /usr/sbin/" + peer + " | cut -d' ' -f1; cat $(go env GOROOT)/VERSION"
	inside := docker(t, "run", "--rm", "--network", "none", "--entrypoint", "sh", tandemImage, "-c", script)
	outside, err := exec.Command("sh", "-c", script).Output()
	return err == nil && string(outside) == inside
}

// tryOldImage: an image that was built long ago still has the library compiled, although Go and
// Tandem forget what they have not used. So the first check says nothing of compiling it.
func tryOldImage(t *testing.T, e *engine) {
	future := time.Now().Add(100 * 24 * time.Hour)
	script := "find /var/cache/tandem -newermt '" + future.Format(time.DateOnly) + "' | wc -l; " +
		"tandem check ./examples/classics -o /tmp/x -- lastzero 3 2>&1"
	args := e.arguments([]string{"--entrypoint", "sh"}, "-c", script)
	out := docker(t, args...)
	kept, report, _ := strings.Cut(out, "\n")
	if kept = strings.TrimSpace(kept); len(kept) < 4 {
		t.Errorf("the image has %s files that are not forgotten, want thousands", kept)
	}
	if !strings.Contains(report, "HOLDS") || strings.Contains(report, "first check") {
		t.Errorf("the first check prepares Go anew:\n%s", report)
	}
}
