package rows

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/report"
	"pgregory.net/rapid"
)

// No step is lost or shown twice, however rows are joined and folded.
func TestRowsCoverAllSteps(t *testing.T) {
	kinds := []report.Kind{report.Synchronisation, report.Channel, report.Lifetime, report.Socket}
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) report.Step {
			return report.Step{
				Goroutine: rapid.IntRange(0, 1).Draw(t, "goroutine"),
				Operation: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "operation"),
				Object:    rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "object"),
				Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
			}
		}), 0, 60).Draw(t, "steps")
		rows := Of(steps)
		next := 0
		for _, r := range Fold(rows) {
			if r.First != next || r.Last < r.First {
				t.Fatalf("row of steps %d to %d, want it to begin with %d", r.First, r.Last, next)
			}
			next = r.Last + 1
			for i := r.First; i <= r.Last; i++ {
				if steps[i].Goroutine != r.Goroutine || r.Last > r.First && steps[i].Kind == report.Socket {
					t.Fatalf("step %d (%+v) is in the row %+v", i, steps[i], r)
				}
			}
		}
		if next != len(steps) {
			t.Fatalf("%d of %d steps are shown", next, len(steps))
		}
	})
}

// TestShorten: the ends of a long schedule stay, and what is left out is said.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*maxRows).Draw(t, "rows")
		var list []Row
		for i := range n {
			list = append(list, Row{First: i, Last: i})
		}
		short := Shorten(list)
		if n <= maxRows {
			if len(short) != n {
				t.Fatalf("%d of %d rows", len(short), n)
			}
			return
		}
		omitted := slices.IndexFunc(short, func(r Row) bool { return r.Omission != "" })
		if len(short) != maxRows+1 || omitted < 0 || short[0].First != 0 || short[len(short)-1].Last != n-1 {
			t.Fatalf("%d rows of %d, with an omission at %d", len(short), n, omitted)
		}
		want := fmt.Sprintf("... steps %d to %d are left out", short[omitted-1].Last+2,
			short[omitted+1].First)
		if short[omitted].Omission != want {
			t.Fatalf("%q, want %q", short[omitted].Omission, want)
		}
	})
}

// TestMessages: each message has its connection and direction, and there are not too many.
func TestMessages(t *testing.T) {
	step := report.Step{Kind: report.Socket, Cached: true, IO: []report.Message{
		{Conn: 3, ToPeer: true, Data: []byte("a")}, {About: "listener \x1b", Event: "refused"},
	}}
	want := []string{
		`-> connection 3: "a", 1 byte`, `<- listener \x1b: refused`,
	}
	if d := cmp.Diff(want, Of([]report.Step{step})[0].Messages); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	step.IO = slices.Repeat(step.IO[1:], maxMessages+5)
	messages := Of([]report.Step{step})[0].Messages
	if len(messages) != maxMessages+1 || messages[maxMessages] != "and 5 more messages" {
		t.Errorf("%d messages: %q", len(messages), messages[len(messages)-1])
	}
}

// TestCriticalSection: what happens to one object in one function is one row.
func TestCriticalSection(t *testing.T) {
	step := func(operation, object string) report.Step {
		return report.Step{
			Goroutine: 1, Operation: operation, Object: object, Function: "p.f", Kind: report.Synchronisation,
		}
	}
	list := Of([]report.Step{
		step("lock", "m"), step("lock", "m"), step("unlock", "m"), step("lock", "n"), step("a", ""),
		step("a", ""),
	})
	var got []string
	for _, r := range list {
		got = append(got, r.Done())
	}
	if d := cmp.Diff([]string{"lock x2, unlock m", "lock n", "a", "a"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if name := NameOf([]report.Goroutine{{ID: 1, Name: "main\x1b"}}, 1); name != `main\x1b` {
		t.Errorf("it is called %q", name)
	}
	if name := NameOf(nil, 7); name != "goroutine 7" {
		t.Errorf("an unknown one is called %q", name)
	}
}

// TestTimePasses: steps at no place that do the same are one row, unless something is seen of them.
func TestTimePasses(t *testing.T) {
	pass := report.Step{Goroutine: 4, Operation: "time passes", Kind: report.Synchronisation}
	told := pass
	told.Restored = "a checkpoint"
	placed := pass
	placed.Source = "a.go:1"
	rows := Of([]report.Step{pass, pass, pass, placed, placed, pass, told, pass})
	var got []int
	for _, r := range rows {
		got = append(got, r.Last)
	}
	if want := []int{2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) || rows[0].What() != "time passes" {
		t.Errorf("rows end with steps %v, want %v; the first one is %q", got, want, rows[0].What())
	}
}
