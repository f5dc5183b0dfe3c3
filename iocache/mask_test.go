package iocache

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var dates = Mask{Addr: "127.0.0.1:22", Pattern: regexp.MustCompile(`Date: [^\n]*`)}

// TestMaskedFieldMayDiffer: when a request is answered again, only what no rule is for counts, and
// the first answer stays.
func TestMaskedFieldMayDiffer(t *testing.T) {
	const first = "OK\nDate: Monday\nbody"
	for answer, agrees := range map[string]bool{
		first: true, "OK\nDate: Tuesday\nbody": true, "OK\nDate: \nbody": true,
		"OK\nDate: Monday\nother": false, "NO\nDate: " +
			"Monday\nbody": false, "OK\nbody": false, first + "Date: Monday": false,
	} {
		c, cursors := recorded(t, Limits{}, []Input{connect(0), send("ask")}, []Reaction{{}, says(first)})
		c.SetMasks([]Mask{dates})
		before := c.dump()
		steps := must(c.Path(Root, cursors[2]))
		_, again := c.Record(cursors[1], send("ask"), says(answer))
		replayed := c.Compare(steps[1], says(answer))
		x := c.Cursor(Group)
		x.at[0] = cursors[1]
		_, compared := x.Compare(send("ask"), says(answer))
		for _, err := range []error{again, replayed, compared} {
			var differs *Inconsistency
			if (err == nil) != agrees || err != nil && !errors.As(err, &differs) {
				t.Errorf("%q: %v", answer, err)
			}
		}
		if after := c.dump(); after != before {
			t.Errorf("%q: the cache was\n%s\nand is\n%s", answer, before, after)
		}
	}
}

// TestMasksAndZeros: a zero byte is no match.
func TestMasksAndZeros(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("ask")},
		[]Reaction{{}, says("OK\nDate: Monday\nbody")})
	c.SetMasks([]Mask{dates})
	var differs *Inconsistency
	if _, err := c.Record(cursors[1], send("ask"), says("OK\n\x00\nbody")); !errors.As(err, &differs) {
		t.Errorf("%v, want an inconsistency", err)
	}
}

// TestMasksAreOfOneAddress: a rule for another peer does not count.
func TestMasksAreOfOneAddress(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("ask")}, []Reaction{{}, says("Date: 1\n")})
	step := must(c.Path(Root, cursors[2]))[1]
	for addr, agrees := range map[string]bool{"127.0.0.1:22": true, "": true, "127.0.0.1:23": false} {
		c.SetMasks([]Mask{{Addr: addr, Pattern: dates.Pattern}})
		if err := c.Compare(step, says("Date: 2\n")); (err == nil) != agrees {
			t.Errorf("a rule for %q: %v", addr, err)
		}
	}
}

// TestMasksAndCuts: a peer whose answers have a counter in them, which is another one with every
// request, is asked with requests that are cut in all ways. With a rule for it no answer
// contradicts another.
func TestMasksAndCuts(t *testing.T) {
	contradictions := 0
	for _, masks := range [][]Mask{nil, {{Pattern: regexp.MustCompile(`<\d{4}>`)}}} {
		rapid.Check(t, func(t *rapid.T) {
			c, number := New(Limits{}), 0
			c.SetMasks(masks)
			for range rapid.IntRange(1, 10).Draw(t, "executions") {
				cur, err := c.Record(Root, connect(0), Reaction{})
				if err != nil {
					t.Fatal(err)
				}
				for range rapid.IntRange(1, 4).Draw(t, "requests") {
					in := send(rapid.StringMatching("a{1,4}").Draw(t, "data"))
					next, _, rest, hit, _ := c.Lookup(cur, in)
					if cur = next; hit {
						continue
					}
					var answer strings.Builder
					for range rest.Data {
						number++
						fmt.Fprintf(&answer, "a<%04d>", number)
					}
					if cur, err = c.Record(cur, rest, says(answer.String())); err != nil {
						if contradictions++; masks != nil {
							t.Fatal(err)
						}
						return
					}
				}
			}
			c.checkTree(t)
		})
	}
	if contradictions == 0 {
		t.Error("without a rule no answer contradicts another")
	}
}
