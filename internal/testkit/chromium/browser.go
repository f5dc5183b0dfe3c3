package chromium

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// Browser is the browser of all tests of a package. It begins with the first tab, as that takes
// seconds of a processor. The zero value is ready. Tests may use it concurrently.
type Browser struct {
	mutex sync.Mutex
	ctx   context.Context // nil before the first tab
}

// Tab opens a tab for a test, without what another one has stored. It is closed with the test.
func (b *Browser) Tab(t *testing.T, options ...chromedp.ContextOption) context.Context {
	t.Helper()
	browser, err := b.start(Path(t))
	if err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	ctx, stop := chromedp.NewContext(browser, append(options, chromedp.WithNewBrowserContext())...)
	t.Cleanup(stop)
	// A tab is bound to the context of its first call, and later ones have timeouts.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium opens no tab: %v", err)
	}
	return ctx
}

// Run runs the tests of a package, for its TestMain. Then it ends the browser, if there is one. It
// returns the exit code, and a browser that does not end is a failure.
func (b *Browser) Run(m *testing.M) (code int) {
	code = m.Run()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ctx == nil {
		return code
	}
	if err := chromedp.Cancel(b.ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium does not end:", err)
		return 1
	}
	return code
}

// start returns the browser, which begins if there is none.
func (b *Browser) start(path string) (context.Context, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ctx != nil {
		return b.ctx, nil
	}
	// Chromium refuses to have a sandbox as root.
	ctx, stop := chromedp.NewContext(context.Background(),
		chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.ExecPath(path)))
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, err
	}
	b.ctx = ctx
	return ctx, nil
}
