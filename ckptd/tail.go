package ckptd

import (
	"io"
	"slices"
	"sync"
)

const tailSize = 64 << 10

// tail is a writer that keeps the end of what it gets.
type tail struct {
	also io.Writer // gets everything, errors ignored; may be nil

	mu   sync.Mutex
	last []byte
}

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

func (t *tail) readFrom(r io.Reader) {
	// An error means that nobody writes any more; there is nobody to tell.
	_, _ = io.Copy(t, r)
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.last)
}
