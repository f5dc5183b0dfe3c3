package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/model"
)

// TestExchangesOfTime: only time that passes has a time, and none of it is negative.
func TestExchangesOfTime(t *testing.T) {
	pass := model.Input{Kind: model.Pass}
	most := func(kind model.Kind, d time.Duration) model.Input {
		in := model.Input{Kind: kind, Most: d}
		if in.Opens() {
			in.Addr = "127.0.0.1:80"
		}
		return in
	}
	for name, test := range map[string]struct {
		exchange Exchange
		want     string // of the error; empty: none
	}{
		"nothing more":     {Exchange{Input: pass}, ""},
		"most":             {Exchange{Input: most(model.Pass, time.Second)}, ""},
		"passed":           {Exchange{Input: pass, Time: &PassedTime{Passed: 1, Due: 2, Peer: "x"}}, ""},
		"most is negative": {Exchange{Input: most(model.Pass, -1)}, "pass, which takes -1ns at most"},
		"passed is negative": {Exchange{Input: pass, Time: &PassedTime{Passed: -1}},
			"pass, which takes 0s at most"},
		"due is negative": {Exchange{Input: pass, Time: &PassedTime{Due: -1}}, "with no negative time"},
		"a close with a time": {Exchange{Input: model.Input{Kind: model.Close}, Time: &PassedTime{}},
			"close, which takes 0s at most: only pass does"},
		"a connect with most": {Exchange{Input: most(model.Connect, 5)},
			"connect, which takes 5ns at most: only pass does"},
	} {
		checkExchange(t, name, test.exchange, test.want)
	}
}

// TestOpenedConnections: connections that peers open are numbered one after the other.
func TestOpenedConnections(t *testing.T) {
	with := func(opened ...Opening) Exchange {
		return Exchange{Input: model.Input{Kind: model.Close}, Opened: opened}
	}
	for name, test := range map[string]struct {
		exchange Exchange
		want     string
	}{
		"one":                 {with(Opening{7, 0}), ""},
		"three":               {with(Opening{7, 0}, Opening{8, 3}, Opening{9, 0}), ""},
		"a gap":               {with(Opening{7, 0}, Opening{9, 0}), "connection 9 is opened at listener 0"},
		"the same again":      {with(Opening{7, 0}, Opening{7, 0}), "connection 7 is opened at listener 0"},
		"a negative one":      {with(Opening{-1, 0}), "connection -1 is opened at listener 0"},
		"a negative listener": {with(Opening{0, -2}), "connection 0 is opened at listener -2, want numbers"},
	} {
		checkExchange(t, name, test.exchange, test.want)
	}
}

// checkExchange validates an exchange by itself, and in a recording, whose error names it.
func checkExchange(t *testing.T, name string, e Exchange, want string) {
	t.Helper()
	r := example()
	r.Exchanges = []Exchange{e}
	own, whole := e.validate(), r.validate()
	switch {
	case want == "" && (own != nil || whole != nil):
		t.Errorf("%s: %v, %v", name, own, whole)
	case want != "" && (own == nil || !strings.Contains(own.Error(), want)):
		t.Errorf("%s: %v, want %q", name, own, want)
	case want != "" && (whole == nil || whole.Error() != "exchange 0: "+own.Error()):
		t.Errorf("%s: in a recording it is %v", name, whole)
	}
}

// TestTimesComeBack: what is said of time in a recording comes back, and none is not the same as
// no time.
func TestTimesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, name))
		}
		e := Exchange{Input: model.Input{Kind: model.Pass, Most: duration("most")}}
		if rapid.Bool().Draw(t, "told") {
			e.Time = &PassedTime{
				Passed: duration("passed"), Idle: rapid.Bool().Draw(t, "idle"),
				Tie: rapid.Bool().Draw(t, "tie"), Due: duration("due"),
				Peer: rapid.SampledFrom([]string{"", "redis"}).Draw(t, "peer"),
			}
		}
		r := example()
		r.Exchanges = append(r.Exchanges, e)
		back := roundTrip(t, r)
		if diff := cmp.Diff(e, back.Exchanges[len(back.Exchanges)-1]); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

// TestSizes: a size counts all steps, and those in which a goroutine that could go on did not.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		preempts := rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(t, "preempts")
		c, want := &Counterexample{}, Size{Transitions: len(preempts)}
		for _, p := range preempts {
			c.Steps = append(c.Steps, Step{Preempts: p})
			if p {
				want.Preemptions++
			}
		}
		if got := c.Size(); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
	for want, s := range map[string]Size{
		"0 preemptions in 0 transitions":         {},
		"1 preemption in 1 transition":           {1, 1},
		"2 preemptions in 12,345 transitions":    {2, 12345},
		"1,000 preemptions in 1,000 transitions": {1000, 1000},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestProgramForAShell: arguments that a shell would take apart are quoted, the others are not.
func TestProgramForAShell(t *testing.T) {
	for want, args := range map[string][]string{
		"./x":                       nil,
		"./x -n 2":                  {"-n", "2"},
		"./x ''":                    {""},
		"./x 'a b' c":               {"a b", "c"},
		`./x 'it'\''s'`:             {"it's"},
		"./x '*.go' '$HOME' 'a;b'":  {"*.go", "$HOME", "a;b"},
		"./x --a=b /c/d.e f_g,h:@i": {"--a=b", "/c/d.e", "f_g,h:@i"},
	} {
		if got := (Run{Package: "./x", Args: args}).Program(); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

// TestPrintableTexts: lines and tabs stay, everything else that a terminal acts on does not; of a
// line nothing of the kind stays.
func TestPrintableTexts(t *testing.T) {
	for text, want := range map[string][2]string{
		"":               {"", ""},
		"plain":          {"plain", "plain"},
		"a\n\tb\n":       {"a\n\tb\n", "a  b "},
		"\x1b[2J\r":      {`\x1b[2J\r`, " [2J "},
		"\x00\n\u202e":   {`\x00` + "\n" + `\u202e`, "   "},
		"\xff\n\x80":     {`\xff` + "\n" + `\x80`, "\ufffd \ufffd"},
		"ä€\U0001f600\t": {"ä€\U0001f600\t", "ä€\U0001f600 "},
	} {
		if got := Printable(text); got != want[0] {
			t.Errorf("%q is printed as %q, want %q", text, got, want[0])
		}
		if got := Line(text); got != want[1] {
			t.Errorf("%q as a line is %q, want %q", text, got, want[1])
		}
	}
}

// TestJSONHoldsAnyText: what is no UTF-8 is replaced, lists that are empty are there, and times are
// in seconds.
func TestJSONHoldsAnyText(t *testing.T) {
	run := Run{
		Package: "./\xff", Args: []string{"<&>", "\xfe"}, Verdict: Unknown, Reason: "\x1b\xff",
		CutOff: "depth\xff", Counts: Counts{Elapsed: 1500 * time.Millisecond},
	}
	var b strings.Builder
	if err := WriteJSON(&b, run, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `\u003c`) {
		t.Errorf("JSON is no HTML: %s", b.String())
	}
	var d struct {
		Package    string
		Args       []string
		Reason     string
		CutOff     string `json:"cut_off"`
		Violations []any
		Counts     struct{ Seconds float64 }
		Assumed    struct{ Preemptible []string }
	}
	if err := json.Unmarshal([]byte(b.String()), &d); err != nil {
		t.Fatal(err)
	}
	if d.Package != "./\ufffd" || !cmp.Equal(d.Args, []string{"<&>", "\ufffd"}) ||
		d.Reason != "\x1b\ufffd" || d.CutOff != "depth\ufffd" {
		t.Errorf("%+v", d)
	}
	if d.Counts.Seconds != 1.5 || d.Violations == nil || d.Assumed.Preemptible == nil {
		t.Errorf("%+v", d)
	}
}
