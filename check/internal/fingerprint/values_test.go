package fingerprint

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type someWorld struct {
	ShortReads int
	Hosts      []string
}

type someBounds struct {
	Executions int
	Time       time.Duration
	Delays     *int
}

type someConfig struct {
	SelfCheck int
	World     someWorld
	Bounds    someBounds
	Long      string
}

// TestValues: keys are those of a file, and what is not given is not there.
func TestValues(t *testing.T) {
	got, err := Values(someConfig{
		SelfCheck: 7, World: someWorld{2, []string{"a", "b"}},
		Bounds: someBounds{Executions: 3, Time: time.Second},
		Long:   strings.Repeat("x", maxShown),
	})
	if err != nil {
		t.Fatal(err)
	}
	long := got["long"]
	delete(got, "long")
	want := map[string]string{
		"self_check": "7", "short_reads": "2", "hosts[0]": `"a"`, "hosts[1]": `"b"`,
		"bounds.executions": "3", "bounds.time": "1000000000",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if !strings.HasPrefix(long, "102 bytes with the hash ") { // with the quotes
		t.Errorf("a long value is kept as %q", long)
	}
}

func TestValuesOfWhatHasNoText(t *testing.T) {
	if _, err := Values(func() {}); err == nil {
		t.Error("a function has values")
	}
}

func TestDifferences(t *testing.T) {
	was := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	is := map[string]string{"a": "1", "b": "5", "c": "6", "e": "7"}
	want := []string{
		"b: it was 2, and is 5", "d: it was 4, and is not there", "e: it was not there, and is 7",
	}
	if d := cmp.Diff(want, Differences(was, is, "c")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestDifferencesAreSymmetric: the same keys differ in both directions.
func TestDifferencesAreSymmetric(t *testing.T) {
	values := rapid.MapOf(rapid.StringMatching("[a-d]"), rapid.StringMatching("[01]"))
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		if list := Differences(a, a); list != nil {
			t.Fatalf("%v differs from itself: %q", a, list)
		}
		if there, back := Differences(a, b), Differences(b, a); len(there) != len(back) {
			t.Fatalf("%q, and back %q", there, back)
		}
		if list := Changed(a, b); len(list) != len(Differences(a, b)) {
			t.Fatalf("%q, but %q", list, Differences(a, b))
		}
	})
}
