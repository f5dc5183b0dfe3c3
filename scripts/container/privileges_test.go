package container

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// privilege is a line of the table in docs/containers.md: options of docker run, and what they are
// enough for. Where they are not, there is what the message says.
type privilege struct {
	options string
	alone   string // a program without peers
	memory  string // with a peer, and images in memory
	criu    string // with a peer, and images by CRIU
}

// enough is the outcome of a check that has come to its verdict.
const enough = "yes"

// Outcomes of those who have too little. CRIU says itself what it cannot do.
const (
	notRoot    = "user 1000 cannot use it: run as root"
	forbidden  = "no user namespace can be had, since something forbids it"
	namespaces = "in namespaces of its own: .*operation not permitted"
	loopback   = "bring up the loopback device: operation not permitted"
	rootChange = "the root directory: operation not permitted"
	noClock    = "Unable to set a monotonic clock offset"
	noRoot     = "Can't restore ns back: Operation not permitted"
)

// privileges are the lines of the table, those with least privilege first.
var privileges = []privilege{
	{"--user 1000:1000 --cap-drop ALL --security-opt no-new-privileges", enough, forbidden, notRoot},
	{"--cap-drop ALL", enough, namespaces, namespaces},
	{"", enough, namespaces, namespaces},
	{"--cap-add SYS_ADMIN", enough, loopback, loopback},
	{"--cap-add SYS_ADMIN --cap-add NET_ADMIN", enough, rootChange, rootChange},
	{"--cap-add ALL", enough, rootChange, rootChange},
	{"--security-opt seccomp=unconfined --cap-add SYS_ADMIN --cap-add NET_ADMIN", enough, enough, noClock},
	{"--security-opt seccomp=unconfined --cap-add SYS_ADMIN --cap-add NET_ADMIN --cap-add SYS_TIME",
		enough, enough, enough},
	{"--security-opt seccomp=unconfined --cap-drop ALL --cap-add SYS_ADMIN --cap-add NET_ADMIN " +
		"--cap-add SETGID", enough, enough, noClock},
	{"--security-opt seccomp=unconfined --cap-drop ALL --cap-add SYS_ADMIN --cap-add NET_ADMIN " +
		"--cap-add SETGID --cap-add SYS_TIME", enough, enough, noRoot},
	{"--security-opt seccomp=unconfined --cap-drop ALL --cap-add SYS_ADMIN --cap-add NET_ADMIN " +
		"--cap-add SETGID --cap-add SYS_TIME --cap-add NET_RAW --cap-add SYS_CHROOT --cap-add SETPCAP",
		enough, enough, enough},
	{"--privileged", enough, enough, enough},
}

// The checks of the columns. The peer is merecat, since Dropbear starts programs, and then images
// are CRIU's.
var (
	checkAlone  = []string{"check", "./examples/classics", "-o", "/tmp/x", "--", "lastzero", "3"}
	checkMemory = []string{"check", "./examples/httpget", "--backend", "memory", "-o", "/tmp/x"}
	checkCRIU   = []string{"check", "./examples/httpget", "--backend", "criu", "-o", "/tmp/x"}
)

// tryPrivileges runs each check with the options of each line.
func tryPrivileges(t *testing.T, e *engine) {
	for _, p := range privileges {
		options := strings.Fields(p.options)
		for _, c := range []struct {
			tandem []string
			want   string
		}{{checkAlone, p.alone}, {checkMemory, p.memory}, {checkCRIU, p.criu}} {
			out, err := exec.Command("docker", e.arguments(options, c.tandem...)...).CombinedOutput()
			if c.want == enough {
				if err != nil || !bytes.Contains(out, []byte("HOLDS")) {
					t.Errorf("docker run %s: %v: %v, want HOLDS\n%s", p.options, c.tandem, err, out)
				}
			} else if err == nil || !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("docker run %s: %v: %v, want %q\n%s", p.options, c.tandem, err, c.want, out)
			}
		}
		t.Logf("docker run %s: alone %s; memory %s; CRIU %s", p.options, p.alone, p.memory, p.criu)
	}
}

// table is the table of the document.
func table() string {
	var b strings.Builder
	b.WriteString("| options of `docker run` | program alone ")
	b.WriteString("| with peers, in memory | with peers, by CRIU |\n")
	b.WriteString("|---|---|---|---|\n")
	cell := func(outcome string) string {
		if outcome == enough {
			return outcome
		}
		return "no: \"" + strings.ReplaceAll(outcome, ".*", "... ") + "\""
	}
	for _, p := range privileges {
		options := "none"
		if p.options != "" {
			options = "`" + p.options + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", options, cell(p.alone), cell(p.memory), cell(p.criu))
	}
	return b.String()
}

// TestPrivilegesInDocument: the table in the document is the one whose lines are tried.
func TestPrivilegesInDocument(t *testing.T) {
	const name, begin, end = "docs/containers.md", "<!-- privileges -->\n", "<!-- end of privileges -->"
	text := read(t, name)
	before, rest, ok := strings.Cut(text, begin)
	had, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of privileges", name)
	}
	if had == table() {
		return
	}
	if !*update {
		t.Fatalf("%s has another table of privileges: go test ./scripts/container -update writes it", name)
	}
	err := os.WriteFile(filepath.Join(root, name), []byte(before+begin+table()+end+after), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}
