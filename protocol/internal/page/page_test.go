package page

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tandem-mc/tandem/internal/testkit/chromium"
	"github.com/tandem-mc/tandem/protocol/internal/show"
)

var screenshots = flag.String("screenshots", "", "directory for pictures of the page")

// patience is how long a browser that hangs is waited for.
const patience = time.Minute

// sample has a step of each kind, and texts that would be a part of the page if they were not
// escaped.
func sample() *Chart {
	hostile := "</script><b id=evil>&\"'\u2028"
	return &Chart{
		What: "one holder " + hostile, Run: "0.0.0." + hostile, Names: []string{"server", "A" + hostile, "B"},
		First: [][]show.Field{{{Path: "Holder", Value: "0"}, {Path: "Queue", Value: "[]"}},
			{{Path: "Asked", Value: "false"}, {Path: "Has", Value: "false"}},
			{{Path: "Has", Value: "false"}}},
		Steps: []Step{
			{show.Step{Node: 1, Text: "call Ask{}",
				Notes: []string{"Asked: false -> true", "sends Ask{} to server"}},
				[]show.Field{{Path: "Asked", Value: "true"}, {Path: "Has", Value: "false"}}},
			{show.Step{Node: 0, From: []int{1}, Text: hostile, Notes: []string{"Holder: 0 -> 1"}},
				[]show.Field{{Path: "Holder", Value: "1"}, {Path: "Queue", Value: "[1]"}, {Path: "Log[0]",
					Value: hostile}}},
			{show.Step{Node: 2, From: []int{0}, Lost: true, Text: "Granted{} is lost"}, nil},
			{show.Step{Node: -1, Text: "partition: server | A, B"}, nil},
			{show.Step{Node: 0, From: []int{1, 2, 0}, Text: "quorum votes: Yes Yes Yes"},
				[]show.Field{{Path: "Holder", Value: "1"}}},
			{show.Step{Node: 1, From: []int{0}, Text: "Granted{}"},
				[]show.Field{{Path: "Asked", Value: "true"}, {Path: "Has", Value: "true"}}},
		},
		Text: "the chart as text",
	}
}

// chrome is the browser of all tests.
var chrome chromium.Browser

func TestMain(m *testing.M) { os.Exit(chrome.Run(m)) }

// browser is the page in headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// open shows a page, and wants its script to run without an error.
func open(t *testing.T, c *Chart, width, height int64, fragment string) *browser {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Write(file, c), file.Close()); err != nil {
		t.Fatal(err)
	}
	complain := func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("%+v", event.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			t.Errorf("%+v", event)
		}
	}
	ctx := chrome.Tab(t, chromedp.WithListener(complain))
	_, err = chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 700})
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, ctx}
	b.do(chromedp.Navigate("file://" + file.Name() + fragment))
	b.is("document.documentElement.dataset.ready !== undefined", "true")
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// is wants a script to have a value.
func (b *browser) is(script, want string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil || got != want {
		b.t.Fatalf("%s is %q, error %v; want %q", script, got, err, want)
	}
}

// keys types keys.
func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// picture keeps a picture, if there is a directory for it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// What the page shows, as scripts.
const (
	title   = `document.querySelector("#detail h2").textContent`
	chosen  = `document.querySelector("[aria-selected=true]").id`
	changed = `[...document.querySelectorAll("tr.changed")].map(` +
		`r => r.closest("table").dataset.node + " " + ` +
		`[...r.cells].map(c => c.textContent.trim()).join(" ")).join("; ")`
)

// TestPage: each step shows what each node keeps before and after it. Keys and clicks choose steps,
// and the address has the step.
func TestPage(t *testing.T) {
	b := open(t, sample(), 1200, 700, "")
	b.is(chosen, "step-6")
	b.is(changed, "A</script><b id=evil>&\"'\u2028 Has false true")
	b.picture("last")
	b.is(`document.querySelectorAll("#evil").length + document.querySelectorAll(".row").length`, "7")
	b.keys(kb.Home)
	b.is(title, "The start")
	b.is(changed, "")
	b.keys("j", kb.ArrowDown)
	b.is(changed, "server Holder 0 1; server Queue [] [1]; server Log[0] </script><b id=evil>&\"'")
	b.is("location.hash", "#step-2")
	// The node of the step is the first.
	b.is(`document.querySelector("#detail table").dataset.node`, "server")
	b.picture("second")
	// The next step of the same node, and the one before.
	b.keys("n")
	b.is(chosen, "step-5")
	b.is(changed, "server Queue [1]; server Log[0] </script><b id=evil>&\"'")
	b.keys("p", "k", "k", "k")
	b.is(chosen, "step-0")
	b.keys(kb.End, "j")
	b.is(chosen, "step-6")
	b.do(chromedp.Click("#step-3 .text"))
	b.is(title, "Step 3: B: Granted{} is lost")
	b.is(changed, "")
	b.is(`document.querySelectorAll("#step-3 svg .cut").length`, "3")
	b.is(`document.querySelectorAll("#step-5 svg line").length`, "2") // and a loop of the node's own
	b.is(`document.querySelectorAll("#step-4 svg circle").length`, "0")
}

// TestNarrow: on a telephone the step is below the chart, and nothing is wider than the screen.
func TestNarrow(t *testing.T) {
	b := open(t, sample(), 400, 800, "#step-2")
	b.is(chosen, "step-2")
	b.picture("narrow")
	b.is("document.documentElement.scrollWidth", "400")
	b.is(`detail.getBoundingClientRect().top >= chart.getBoundingClientRect().bottom - 1`, "true")
	// A run without steps, and one that violates nothing.
	b = open(t, &Chart{Names: []string{"A"}, First: [][]show.Field{nil}}, 400, 800, "#step-9")
	b.is(chosen, "step-0")
	b.is(`document.querySelector("h1").textContent`, "This run violates nothing")
}

// TestEscaped: no text of a node becomes a part of the page, with scripts or without.
func TestEscaped(t *testing.T) {
	var s strings.Builder
	if err := Write(&s, sample()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.String(), "<b id=evil>") || strings.Count(s.String(), "</script>") != 1 {
		t.Error(s.String())
	}
	// Nothing is fetched.
	for _, word := range []string{"http:", "https:", "src=", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(s.String(), "http://www.w3.org/2000/svg", ""), word) {
			t.Errorf("the page has %q", word)
		}
	}
	if err := Write(&s, &Chart{}); err != nil {
		t.Error(err)
	}
}
