package ckptd

import (
	"io"
	"slices"
	"sync"
)

const tailSize = 64 << 10

// tail is a writer that keeps the end of what it gets. It is a writer for a process that may write
// without end.
type tail struct {
	also io.Writer // gets everything, errors ignored; may be nil

	mu   sync.Mutex
	last []byte
}

// Write never fails: who writes would end.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		t.also.Write(p)
	}
	t.last = append(t.last, p...)
	if n := len(t.last) - tailSize; n > 0 {
		t.last = slices.Delete(t.last, 0, n)
	}
	return len(p), nil
}

// readFrom reads until nobody can write any more.
func (t *tail) readFrom(r io.Reader) {
	// An error means that nobody writes any more; there is nobody to tell.
	_, _ = io.Copy(t, r)
}

// bytes are the last ones that were written, at most tailSize.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.last)
}
