package html

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tandem-mc/tandem/internal/testkit/chromium"
	"github.com/tandem-mc/tandem/report"
)

var screenshots = flag.String("screenshots", "", "directory for pictures of the pages")

// patience is how long a browser that hangs is waited for.
const patience = time.Minute

// chrome is the browser of all tests.
var chrome chromium.Browser

func TestMain(m *testing.M) { os.Exit(chrome.Run(m)) }

// browser is a page in a browser, with what it has complained about.
type browser struct {
	t        *testing.T
	ctx      context.Context
	mutex    sync.Mutex
	problems []string
}

// open shows a counterexample in headless Chromium, as wide and high as that.
func open(t *testing.T, c *report.Counterexample, width, height int64, fragment string) *browser {
	t.Helper()
	return openPage(t, htmlOf(t, c), width, height, fragment)
}

// openPage shows a page likewise.
func openPage(t *testing.T, text string, width, height int64, fragment string) *browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t}
	b.ctx = chrome.Tab(t, chromedp.WithListener(b.listen))
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 700})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}})
	b.do(chromedp.Navigate("file://" + file + fragment))
	b.is("document.documentElement.dataset.ready !== undefined", "true")
	return b
}

// call has the browser do something that chromedp has no action for.
func call[P any](b *browser, command cdp.Command[P, cdp.Empty], parameters P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, parameters); err != nil {
		b.t.Fatal(err)
	}
}

// listen notes what the page complains about: errors of its script, and what its policy refuses.
func (b *browser) listen(event any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("%+v", event.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("%+v", event))
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// run runs a script in the page.
func (b *browser) run(script string) string {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => String("+script+"))()",
		chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return text
}

// is asks the page until the script is what is wanted: the page draws some things a moment later.
func (b *browser) is(script, want string) {
	b.t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if got = b.run(script); got == want {
			return
		}
		b.run("await new Promise(requestAnimationFrame)")
	}
	b.t.Fatalf("%s is %q, want %q", script, got, want)
}

// click clicks the first element of a selector.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.run(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// key types a key outside of any field.
func (b *browser) key(key string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key))
}

// picture keeps a picture of the page, if there is a directory for it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644); err != nil {
		b.t.Error(err)
	}
}

// settled reports what the page complained about.
func (b *browser) settled() {
	b.t.Helper()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the page complains: %q", b.problems)
	}
}

const (
	selected = `document.querySelector(".row.selected .no")?.textContent`
	heading  = `document.querySelector("#detail h2")?.textContent`
	count    = `document.getElementById("count").textContent`
	place    = `document.activeElement.closest(".node")?.querySelector(".no").textContent`
	places   = `[...document.querySelectorAll(".node .no")].map(e => e.textContent).join(" ")`
)

// TestPageInBrowser: a reader opens a page, filters, steps, searches, follows arrows, opens folds,
// and takes the other theme, on a screen and on a phone.
func TestPageInBrowser(t *testing.T) {
	for _, width := range []int64{1400, 400} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, sample(), width, 900, "")
			b.is(`document.querySelectorAll("#heads .head").length`, "4") // without the idle goroutine
			b.is(count, "18 of 31 steps, 1 idle lane hidden")
			b.picture(fmt.Sprintf("%d-first", width))
			b.key("j")
			b.key("j")
			b.key("k")
			b.is(selected, "1")
			b.is(heading, "Step 1")
			b.do(chromedp.SendKeys("#search", "receive"+kb.Enter))
			b.is(heading, "Step 25")
			b.run(`document.activeElement.blur()`)
			b.key("a") // from the receive to the send
			b.is(heading, "Step 23")
			b.key("e")
			b.is(heading, "Step 25")
			b.key("n")
			b.is(heading, "Step 29")
			b.click("#failure a")
			b.is(heading, "Step 30")
			b.is(`document.querySelector(".line.here").textContent.trim()`, "12  \t\tq.mu.Lock()")
			b.picture(fmt.Sprintf("%d-step-light", width))
			b.checkContrast()
			b.click("#theme")
			b.is(`getComputedStyle(document.body).backgroundColor`, "rgb(21, 24, 28)")
			b.checkContrast()
			b.picture(fmt.Sprintf("%d-step-dark", width))
			b.folds()
			b.run(`document.getElementById("kind").value = "io"`)
			b.run(`document.getElementById("kind").dispatchEvent(new Event("change"))`)
			b.is(count, "2 of 31 steps, 2 idle lanes hidden")
			b.picture(fmt.Sprintf("%d-messages-dark", width))
			b.run(`location.hash = "#step-27"`)
			b.is(heading, "Step 27")
			b.is(`document.querySelector(".dump").textContent.includes("GET /jobs/1")`, "true")
			b.is(`document.documentElement.scrollWidth <= innerWidth`, "true")
			b.settled()
		})
	}
}

// TestTyping: what is typed into the filter leaves the steps with all of the words, also those that
// are folded, and is no key for anything else. Escape leaves the field.
func TestTyping(t *testing.T) {
	b := open(t, sample(), 1400, 900, "")
	// Not b.key: Chromium's protocol types the letter into the field, too; a keyboard does not.
	b.run(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "f", bubbles: true }))`)
	b.do(chromedp.KeyEvent("lock job"))
	b.is(`document.getElementById("filter").value`, "lock job")
	b.is(count, "0 of 31 steps, 5 idle lanes hidden")
	for range " job" {
		b.do(chromedp.KeyEvent(kb.Backspace))
	}
	b.is(count, "10 of 31 steps, 2 idle lanes hidden")
	b.do(chromedp.KeyEvent(" redis"))
	b.is(count, "5 of 31 steps, 4 idle lanes hidden")
	b.is(`document.getElementById("detail").textContent`, "")
	b.key(kb.Escape)
	b.key("j")
	b.is(heading, "Step 4")
	b.settled()
}

// TestCacheInBrowser: a reader opens the I/O cache, sees the way of the counterexample, goes from a
// place to its step and back, and opens and closes branches, with a mouse and with keys.
func TestCacheInBrowser(t *testing.T) {
	for _, width := range []int64{1400, 400} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, sample(), width, 900, "")
			b.is(`document.querySelector("#cache summary").textContent`,
				"I/O cache: 11 inputs, 4 checkpoints, 3 restores")
			b.click("#cache summary")
			b.is(places, "1 2 3 4 5 6-9 10 11 12")
			b.is(`[...document.querySelectorAll(".node.path .no")].map(e => e.textContent).join(" ")`,
				"1 2 5 6-9 10")
			b.is(`document.querySelectorAll(".node")[6].textContent`, "10piece 5 of a request"+
				"← HTTP/1.1 200 OK (head of 38 bytes), body, 5 bytes20 hitscheckpoint (CRIU), "+
				"restored 3 timesstep 27")
			b.is(`document.querySelector("#cache > div").textContent.includes("1,234 more inputs")`, "true")
			b.run(`document.getElementById("cache").scrollIntoView()`)
			b.picture(fmt.Sprintf("%d-cache-light", width))
			b.checkContrast()
			b.run(`document.querySelectorAll(".node")[6].querySelector("a").click()`)
			b.is(heading, "Step 27")
			b.run(`[...document.querySelectorAll("#detail a")].find(a => a.hash === "#place-10").click()`)
			b.is(place, "10")
			b.cacheKeys()
			b.click("#theme")
			b.run(`document.getElementById("cache").scrollIntoView()`)
			b.checkContrast()
			b.picture(fmt.Sprintf("%d-cache-dark", width))
			b.run(`document.querySelectorAll(".node")[1].click()`)
			b.is(heading, "Step 1")
			b.is(`document.documentElement.scrollWidth <= innerWidth`, "true")
			b.settled()
		})
	}
}

// cacheKeys uses the I/O cache without a mouse, from place 10 on.
func (b *browser) cacheKeys() {
	b.t.Helper()
	b.key(kb.ArrowUp)
	b.is(place, "6-9")
	b.key(kb.ArrowRight)
	b.is(places, "1 2 3 4 5 6-9 6 7 8 9 10 11 12")
	b.key("j")
	b.is(place, "6")
	b.key(kb.Enter)
	b.is(heading, "Step 27")
	b.run(`location.hash = "#place-3"`)
	b.is(place, "3")
	b.key(kb.ArrowLeft)
	b.is(places, "1 2 3 5 6-9 6 7 8 9 10 11 12")
	b.run(`location.hash = "#place-4"`)
	b.is(place, "4")
	b.key(kb.Home)
	b.is(place, "1")
	b.key("k")
	b.is(place, "1")
	b.key(kb.End)
	b.is(place, "12")
}

// TestLargeCache: of a large cache what leaves the way of the counterexample is closed at first.
// All of it is in a page of bounded size, and a place deep inside is found.
func TestLargeCache(t *testing.T) {
	c := sample()
	c.Cache = &report.CacheTree{Places: []report.CachePlace{{Parent: -1, Sent: []string{"peers: start"}}}}
	random := rand.New(rand.NewPCG(1, 2))
	for i := 1; i <= report.MaxPlaces; i++ {
		c.Cache.Places = append(c.Cache.Places, report.CachePlace{Parent: max(0, i-1-random.IntN(9)),
			Sent: []string{fmt.Sprintf("%x, 120 bytes", random.Uint64())}, Hits: random.IntN(1000)})
	}
	text := htmlOf(t, c)
	if len(text) > 300_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
	b := openPage(t, text, 1400, 900, "#place-1777")
	b.is(place, "1777")
	b.picture("large-cache")
	b.is(`document.querySelectorAll(".node").length < 1000`, "true")
	b.settled()
}

// TestWithoutCache: a program without peers has no cache, and an old file of one with peers says
// that it does not have it.
func TestWithoutCache(t *testing.T) {
	c := sample()
	c.Cache = nil
	b := open(t, c, 1400, 900, "")
	b.click("#cache summary")
	b.is(`document.querySelector("#cache > div").textContent.startsWith("It is not in the file")`, "true")
	c.Inputs = nil
	b = open(t, c, 1400, 900, "")
	b.is(`document.getElementById("cache")`, "null")
	b.settled()
}

// folds opens a fold and closes it.
func (b *browser) folds() {
	b.t.Helper()
	b.key("g")
	b.is(selected, "1")
	b.run(`document.querySelector(".row.fold").click()`)
	b.is(count, "23 of 31 steps, 1 idle lane hidden")
	b.is(selected, "4-8")
	b.key("o")
	b.is(count, "18 of 31 steps, 1 idle lane hidden")
	b.run(`document.getElementById("folded").click()`)
	b.is(count, "31 of 31 steps, 1 idle lane hidden")
	b.run(`document.getElementById("folded").click()`)
}

// TestArrowIsFollowed: a click on an arrow leads to the step that it comes from.
func TestArrowIsFollowed(t *testing.T) {
	b := open(t, sample(), 1400, 900, "#step-26")
	b.is(heading, "Step 26")
	b.run(`[...document.querySelectorAll(".arrow.order")]
		.find(a => a.textContent.startsWith("after step 24")).dispatchEvent(new Event("click"))`)
	b.is(heading, "Step 24")
	b.is(`document.querySelectorAll(".arrow.bytes").length > 0`, "true")
	b.click(".head.peer") // only what has to do with the peer
	b.is(count, "2 of 31 steps, 2 idle lanes hidden")
	b.settled()
}

// TestMarkupDoesNotAct: whatever the program and the peers write, it is shown as text.
func TestMarkupDoesNotAct(t *testing.T) {
	b := open(t, hostile(), 1400, 900, "")
	b.click("#cache summary")
	b.run(`(() => {
		const key = k => document.dispatchEvent(Object.defineProperty(new KeyboardEvent("keydown",
			{ key: k }),
			"target", { value: document.body }));
		key("g");
		for (let i = 0; i < 120; i++) { key("o"); key("j"); }
	})()`)
	b.is(`document.querySelectorAll("img, b, script:not(#data):not([type=module])").length`, "0")
	b.is(`window.acted`, "undefined")
	b.is(`document.querySelector("h1").textContent.includes("<img src=x onerror=")`, "true")
	b.is(`document.querySelector("#detail").textContent.includes("<img src=x onerror=")`, "true")
	b.settled()
}

// TestManySteps: a schedule of a million steps is one page of less than 5 MB, which opens, scrolls
// to both ends, and finds a step. Times are printed.
func TestManySteps(t *testing.T) {
	const steps = 1_000_000
	c := long(steps)
	start := time.Now()
	text := htmlOf(t, c)
	t.Logf("written in %v, %d bytes", time.Since(start), len(text))
	if len(text) >= 5_000_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
	b := openPage(t, text, 1400, 900, "")
	t.Logf("opened in %s ms", b.run(`document.documentElement.dataset.ready`))
	b.is(`document.querySelectorAll(".row").length < 200`, "true")
	b.picture("many")
	b.key("G")
	b.is(`document.querySelector(".row.selected") !== null`, "true")
	b.run(fmt.Sprintf(`location.hash = "#step-%d"`, steps-5))
	b.is(heading, fmt.Sprintf("Step %d", steps-5))
	b.is(selected, fmt.Sprint(steps-5))
	b.key("g")
	b.is(selected, "1")
	b.settled()
}

// checkContrast: every text that is seen differs from what is behind it by at least 4.5 (WCAG 2.2,
// 1.4.3).
func (b *browser) checkContrast() {
	b.t.Helper()
	if bad := b.run(contrasts); bad != "" {
		b.t.Errorf("too little contrast:\n%s", bad)
	}
}

// contrasts lists the elements whose text is hard to read.
const contrasts = `(() => {
	const parse = c => (c.match(/[\d.]+/g) ?? []).map(Number);
	const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
		.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] > 0) return c;
		}
		return [255, 255, 255];
	};
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim() !== "");
		if (!own && e.tagName !== "INPUT" || !e.checkVisibility() || e.closest("svg") ||
			e.tagName === "SCRIPT") continue;
		const a = light(parse(getComputedStyle(e).color)), z = light(behind(e));
		const ratio = (Math.max(a, z) + 0.05) / (Math.min(a, z) + 0.05);
		if (ratio < 4.5) bad.push(e.tagName + "." + e.className + " " + e.textContent.slice(0, 40) + ": " +
			ratio);
	}
	return bad.join("\n");
})()`
