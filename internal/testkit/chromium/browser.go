package chromium

import (
	"context"
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

// Close ends the browser, if there is one, and waits for its end. The package's TestMain calls it.
func (b *Browser) Close() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ctx == nil {
		return nil
	}
	return chromedp.Cancel(b.ctx)
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
