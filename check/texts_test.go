package check

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/html"
	"github.com/tandem-mc/tandem/report/text"
	"github.com/tandem-mc/tandem/sut"
)

// textsOf are programs of the gallery whose whole reports are kept, with what each is an example
// of.
var textsOf = []string{
	"ab-ba",                // two locks, each with its holder
	"read-write-read",      // one that is held for reading, and a writer that waits
	"flag-without-lock",    // Broadcast, and Wait of a condition
	"missing-done",         // Done, and a counter
	"stop-then-drain",      // Sleep, a select, and a timer
	"merge-never-ends",     // a select whose channels are nil
	"room-for-one-error",   // a channel with a buffer, which is full
	"timeout-leak",         // a leak
	"work-after-stop",      // an assertion
	"check-then-close",     // a panic, and the order that led to it
	"pipe-not-closed",      // a goroutine that waits in a library
	"race-unlocked-getter", // a data race
}

// What differs from one machine, or one version of Go, to the next.
var (
	placeInGo = regexp.MustCompile(`\S+/src/(\S+\.go):\d+`)
	address   = regexp.MustCompile(`0x[0-9a-f]+`)
	unseen    = regexp.MustCompile(`(?s)(<(?:script|style|meta))\b.*?>(?:.*?</(?:script|style)>)?`)
	ready     = regexp.MustCompile(` data-ready="\d+"`)
	element   = regexp.MustCompile(`<(?:svg|line|circle|path|div class="(?:list|row)|button class|option)\b`)
)

// anywhere is a report without what differs from one machine to the next.
func anywhere(shown string) string {
	shown = placeInGo.ReplaceAllString(shown, "GOROOT/src/$1:N")
	return address.ReplaceAllString(shown, "ADDRESS")
}

// drawn is a page as a tab has it when its script has drawn it, without script, style and data.
func drawn(t *testing.T, tab context.Context, c *report.Counterexample) string {
	file := filepath.Join(t.TempDir(), "page.html")
	var page bytes.Buffer
	if err := html.Write(&page, c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	// The page draws the rows for which the window has room.
	if _, err := chromedp.Call(tab, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: 1400, Height: 3000,
			DeviceScaleFactor: 1}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatalf("Chromium shows the page: %v", err)
	}
	// The script draws when the data is unpacked, which the attribute tells.
	const script = `(async () => {
		while (document.documentElement.dataset.ready === undefined)
			await new Promise(requestAnimationFrame)
		return document.documentElement.outerHTML
	})()`
	dom, err := chromedp.Run(tab, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("Chromium shows the page: %v", err)
	}
	seen := ready.ReplaceAllString(unseen.ReplaceAllString("<!DOCTYPE html>\n"+dom+"\n", "$1>"), "")
	return element.ReplaceAllString(seen, "\n$0")
}

// TestTexts: the reports of a number of programs are as the files in testdata/texts and
// testdata/pages have them.
func TestTexts(t *testing.T) {
	p, err := buildProgram("../examples/gallery", filepath.Join(tree, "texts"), sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*report.Counterexample)
	for _, name := range textsOf {
		t.Run(name, func(t *testing.T) {
			result := check(t, Options{Program: p, Args: []string{name}, Search: untilViolation(dporSearch()),
				Leaks: name == "timeout-leak"})
			if len(result.Violations) != 1 {
				t.Fatalf("%+v", result.Verdict)
			}
			c := *result.Violations[0].Counterexample
			c.Run = report.Run{Package: "./examples/gallery", Args: []string{name}, Verdict: report.Violated}
			var told bytes.Buffer
			if err := text.Write(&told, &c, report.Options{}); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "texts/"+name+".txt", anywhere(told.String()))
			found[name] = &c
		})
	}
	t.Run("pages", func(t *testing.T) {
		tab := chrome.Tab(t)
		for name, c := range found {
			golden.Equal(t, "pages/"+name+".html", anywhere(drawn(t, tab, c)))
		}
	})
}
