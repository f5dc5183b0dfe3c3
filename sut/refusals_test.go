package sut_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// refusals are what testdata/refused does, and what is said of it; a pattern.
var refusals = map[string]string{
	"process":  "starting a subprocess",
	"proc":     "/proc/meminfo, which differs from run to run",
	"listing":  "listing /proc",
	"sys":      "/sys/kernel/[a-z/_]*, which is a part of the system",
	"device":   "/dev/(pts/)?ptmx, a device",
	"other":    "sending a signal to another process",
	"inotify":  "a descriptor for events",
	"epoll":    "waiting for descriptors by system calls of its own",
	"mapping":  "mapping a file into memory to change it there",
	"chroot":   "changing the root directory",
	"limit":    "changing a resource limit",
	"identity": "changing the process that the program runs in",
	"owner":    "asking for signals about a file",
	"trace":    "tracing the execution",
}

// TestRefusals: what cannot be checked is refused by name, with the line that does it.
func TestRefusals(t *testing.T) {
	p, err := build(t.TempDir(), "./testdata/refused")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/refused/main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for name, says := range refusals {
		w, err := sut.Start(p, sut.Options{Args: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		log := run(t, w, sut.Schedule{}, nil)
		w.Close()
		if log.Outcome != sut.Refused || !regexp.MustCompile(says).MatchString(log.Message) {
			t.Errorf("%s: %v, %q; want refused, and %q", name, log.Outcome, log.Message, says)
		}
		at := ""
		for _, pc := range log.Stack {
			if place, ok := p.Position(pc); ok && p.IsOwn(place) {
				at = lines[place.Line-1]
				break
			}
		}
		if !strings.HasPrefix(strings.TrimSpace(at), strconv.Quote(name)+":") {
			t.Errorf("%s: refused at %q", name, at)
		}
	}
}
