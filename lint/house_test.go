package lint

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/lint/internal/house"
)

var shrink = flag.Bool("shrink", false, "write the file of exceptions anew; no rule gets more of them")

// exceptions is the file with how many places of each room do not keep a rule yet.
const exceptions = "exceptions.txt"

// key is a room and a rule.
type key struct{ room, rule string }

// exception is a line of the file: by how much a rule is not kept, over all places, and why.
type exception struct {
	number int
	reason string
}

// finding is by how much a rule is not kept in a room, and where.
type finding struct {
	size   int
	places []string
}

// measured is the house as it is now.
var measured = sync.OnceValues(func() (*house.House, error) { return house.Measure("..") })

// TestHouse holds the rules of package house. Where one is not kept there is a line in the file of
// exceptions, which may only get smaller.
func TestHouse(t *testing.T) {
	h, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	found := map[key]finding{}
	for _, f := range h.Findings() {
		k := key{f.Room, f.Rule}
		found[k] = finding{found[k].size + f.Size, append(found[k].places, f.What)}
	}
	allowed, comments := readExceptions(t)
	if *shrink {
		writeExceptions(t, found, allowed, comments)
		return
	}
	for k, f := range found {
		if f.size > allowed[k].number {
			t.Errorf("%s: %s: missed by %d in all, and %s allows %d:\n\t%s",
				k.room, house.Rules[k.rule], f.size, exceptions, allowed[k].number,
				strings.Join(some(f.places), "\n\t"))
		}
	}
	for k, e := range allowed {
		if needed := found[k].size; needed < e.number {
			t.Errorf("%s: %s: missed by %d only, and the file allows %d: "+
				"run go test ./lint -run TestHouse -shrink, and commit",
				k.room, k.rule, needed, e.number)
		}
	}
}

// TestDocuments: what documents have of the code is what it is now.
func TestDocuments(t *testing.T) {
	h, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	if outdated, err := house.Outdated(h, ".."); err != nil || len(outdated) > 0 {
		t.Errorf("outdated: %v, error %v; run go run ./lint/house -documents, and commit", outdated, err)
	}
}

// some are the first of a list.
func some(list []string) []string {
	const most = 20
	if len(list) > most {
		return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return list
}

var exceptionLine = regexp.MustCompile(`^(\S+) (\S+) (\d+)(?:  # (.+))?$`)

// readExceptions also returns the comment at the beginning of the file.
func readExceptions(t *testing.T) (allowed map[key]exception, comment string) {
	data, err := os.ReadFile(exceptions)
	if err != nil {
		t.Fatal(err)
	}
	allowed = map[key]exception{}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		switch fields := exceptionLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
			comment += line + "\n"
		case line == "":
		case fields == nil || house.Rules[fields[2]] == "":
			t.Fatalf("%s:%d: not a line ROOM RULE NUMBER  # REASON", exceptions, i+1)
		default:
			number, _ := strconv.Atoi(fields[3])
			allowed[key{fields[1], fields[2]}] = exception{number, fields[4]}
		}
	}
	return allowed, comment
}

// writeExceptions writes what is needed now. What has moved to another room is allowed there.
func writeExceptions(t *testing.T, found map[key]finding, allowed map[key]exception, comment string) {
	before, now := map[string]int{}, map[string]int{}
	for k, e := range allowed {
		before[k.rule] += e.number
	}
	for k, f := range found {
		now[k.rule] += f.size
	}
	for rule, n := range now {
		if n > before[rule] {
			t.Fatalf("%s: missed by %d in all, and it was by %d: it may only get less",
				house.Rules[rule], n, before[rule])
		}
	}
	var b strings.Builder
	b.WriteString(comment)
	room := ""
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int {
		return strings.Compare(a.room+" "+a.rule, b.room+" "+b.rule)
	}) {
		if k.room != room {
			b.WriteString("\n\n")
			room = k.room
		}
		fmt.Fprintf(&b, "%s %s %d", k.room, k.rule, found[k].size)
		if reason := allowed[k].reason; reason != "" {
			b.WriteString("  # " + reason)
		}
		b.WriteString("\n")
	}
	if err := os.WriteFile(exceptions, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
