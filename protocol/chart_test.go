package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHTML: a violation has a page, which has what all nodes keep, and the run. One at the start
// has one as well, and what cannot be written is an error that has the run.
func TestHTML(t *testing.T) {
	grow := func(c *counter, env *Env, _ any) {
		c.N++
		c.Extra = []any{"</script>", c.N}
	}
	small := Assertion("small", func(_ ID, n Node) bool { return n.(*counter).N < 3 })
	file := filepath.Join(t.TempDir(), "chart.html")
	var r recorder
	Test(&r, one(5, grow, small), Options{HTML: file, Workers: 1})
	page, err := os.ReadFile(file)
	if err != nil || !strings.Contains(r.logged, file) {
		t.Fatalf("error %v, logged %q", err, r.logged)
	}
	for _, text := range []string{"violated: small", "3 steps", "0.0.0.0", `"Path":"N","Value":"2"`,
		`"Path":"Extra[1]","Value":"3"`, `\u003c/script\u003e`, "N: 2 -\\u003e 3"} {
		if !strings.Contains(string(page), text) {
			t.Errorf("the page has no %q:\n%s", text, page)
		}
	}
	at := Assertion("no", func(ID, Node) bool { return false })
	if result, err := Check(one(1, grow, at), Options{HTML: file}); err != nil || result.Verdict != Violated {
		t.Errorf("%v, error %v", result, err)
	}
	if page, err = os.ReadFile(file); err != nil || !strings.Contains(string(page), "violated: no") {
		t.Errorf("error %v:\n%s", err, page)
	}
	_, err = Check(one(5, grow, small), Options{HTML: filepath.Join(file, "below"), Workers: 1})
	if err == nil || !strings.Contains(err.Error(), `the chart of "small", run 0.0.0.0, cannot be written`) {
		t.Errorf("error %v", err)
	}
	if result, err := Check(one(2, grow, small), Options{HTML: filepath.Join(file, "below")}); err != nil ||
		result.Verdict != Holds {
		t.Errorf("%v, error %v; nothing is to be written", result, err)
	}
}

// TestFolded: a chart that is longer than a screen is folded, and a replay draws all of it.
func TestFolded(t *testing.T) {
	grow := func(c *counter, env *Env, message any) {
		c.N++
		c.Extra = strings.Repeat("x", c.N)
		env.Send(0, c.N)
	}
	short := Assertion("short", func(_ ID, n Node) bool { return n.(*counter).N < 12 })
	long := Assertion("long", func(_ ID, n Node) bool { return n.(*counter).N < 23 })
	for _, p := range []Property{short, long} {
		m := one(30, grow, p)
		r, err := Check(m, Options{Workers: 1, Search: DepthFirst})
		if err != nil || r.Violation == nil {
			t.Fatalf("%v, error %v", r, err)
		}
		v := r.Violation
		lines, all := strings.Count(v.Chart, "\n"), strings.Count(v.Details, "\n")
		if lines > max(50, 1+2*v.Steps) || (v.Chart == v.Details) != (all <= 50) {
			t.Errorf("%d lines of %d for %d steps", lines, all, v.Steps)
		}
		if strings.Contains(v.report(), "The chart is folded") != (p.Name() == "long") {
			t.Error(v.report())
		}
		var again recorder
		if Replay(&again, m, v.Run); !strings.Contains(again.failed, v.Details) ||
			strings.Contains(again.failed, "folded") {
			t.Errorf("%s\nwant in it\n%s", again.failed, v.Details)
		}
	}
}
