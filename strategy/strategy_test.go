package strategy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestTable compares what each strategy decides, after each input of one dialogue,
// with the table in testdata.
func TestTable(t *testing.T) {
	dialogue := []Step{
		{Kind: Start},
		{Kind: Connect},
		{Kind: Send, ResponseBytes: 1},
		{Kind: Send},
		{Kind: Return, Forecast: 9},
		{Kind: Return},
		{Kind: Send, ResponseBytes: 65536},
		{Kind: Shutdown, ResponseBytes: 12},
		{Kind: Close},
		{Kind: Connect, ResponseBytes: 21}, // a server that speaks first
		{Kind: Send, Reads: 2},
		{Kind: Send, ResponseBytes: 5, Reads: 1},
		{Kind: Send, Uninstrumented: true},
		{Kind: Send, Uninstrumented: true, Answered: true}, // by the end of the connection
	}
	names := append(Names(), "after-io,every=3", "always,images=4", "always,every=2,images=3")
	var b strings.Builder
	fmt.Fprintf(&b, "%-9s %9s %6s %6s", "input", "response", "reads", "depth")
	for _, name := range names {
		fmt.Fprintf(&b, " %9s", name)
	}
	b.WriteByte('\n')
	since, images := make([]int, len(names)), make([]int, len(names))
	for i, step := range dialogue {
		step.Answered = step.Answered || step.ResponseBytes > 0
		step.Depth, step.Inputs, step.Returns, step.Cost = i, i, i/4, 3*time.Millisecond
		reads := fmt.Sprint(step.Reads)
		if step.Uninstrumented {
			reads = "?"
		}
		fmt.Fprintf(&b, "%-9s %9d %6s %6d", step.Kind, step.ResponseBytes, reads, step.Depth)
		for j, name := range names {
			s, err := ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if step.Kind != Start && step.Kind != Return {
				since[j]++
			}
			step.SincePhysical, step.Images, step.Replay = since[j], images[j],
				time.Duration(since[j])*time.Millisecond
			decision := "-"
			if s.Checkpoint(step) {
				decision, since[j] = fmt.Sprintf("after %d", since[j]), 0
				images[j]++
			}
			fmt.Fprintf(&b, " %*s", max(9, len(name)), decision)
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
	for _, name := range []string{"", "Always", "after", "after-io=3"} {
		_, err := ByName(name)
		want := fmt.Sprintf("there is no checkpoint strategy %q: choose one of never, after-nd, "+
			"after-connect, adaptive, after-io, always", name)
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
	if names := strings.Join(got, " "); names != "connect send shutdown close pass start return kind 7" {
		t.Errorf("names: %s", names)
	}
}

func TestByNameRefusesChanges(t *testing.T) {
	for name, says := range map[string]string{
		"after-io,": "write every=N or images=N after a comma, N from 1 to " +
			"1000000", "always,every": "write every=N", "always,every=0": "N from 1",
		"never,images=1000001": "N from 1", "always,depth=3": `not "depth"`,
		"always,every=2,": "write every=N",
	} {
		if _, err := ByName(name); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("ByName(%q): %v, want %s", name, err, says)
		}
	}
}
