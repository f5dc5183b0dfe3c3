package strategy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestTable compares what each strategy decides, after each input of one dialogue,
// with the table in testdata.
func TestTable(t *testing.T) {
	dialogue := []Step{
		{Kind: Connect},
		{Kind: Send, ResponseBytes: 1},
		{Kind: Send},
		{Kind: Send, ResponseBytes: 65536},
		{Kind: Shutdown, ResponseBytes: 12},
		{Kind: Close},
		{Kind: Connect, ResponseBytes: 21}, // a server that speaks first
		{Kind: Send, Reads: 2},
		{Kind: Send, ResponseBytes: 5, Reads: 1},
		{Kind: Send, Blind: true},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-9s %9s %6s %6s", "input", "response", "reads", "depth")
	for _, name := range Names() {
		fmt.Fprintf(&b, " %9s", name)
	}
	b.WriteByte('\n')
	since := make([]int, len(Names()))
	for i, step := range dialogue {
		step.Depth = i + 1
		reads := fmt.Sprint(step.Reads)
		if step.Blind {
			reads = "?"
		}
		fmt.Fprintf(&b, "%-9s %9d %6s %6d", step.Kind, step.ResponseBytes, reads, step.Depth)
		for j, name := range Names() {
			s, err := ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			since[j]++
			step.SincePhysical = since[j]
			decision := "-"
			if s.Checkpoint(step) {
				decision, since[j] = fmt.Sprintf("after %d", since[j]), 0
			}
			fmt.Fprintf(&b, " %9s", decision)
		}
		b.WriteByte('\n')
	}
	const file = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("decisions differ (-update rewrites them):\n%s", &b)
	}
}

func TestByNameSaysWhatThereIs(t *testing.T) {
	for _, name := range []string{"", "Always", "adaptive"} {
		_, err := ByName(name)
		want := fmt.Sprintf("there is no checkpoint strategy %q: choose one of never, after-nd, after-io, always", name)
		if err == nil || err.Error() != want {
			t.Errorf("ByName(%q): %v, want %s", name, err, want)
		}
	}
}

func TestKindNames(t *testing.T) {
	var got []string
	for k := range kinds + 1 {
		got = append(got, k.String())
	}
	if names := strings.Join(got, " "); names != "connect send shutdown close kind 4" {
		t.Errorf("names: %s", names)
	}
}
