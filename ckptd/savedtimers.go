package ckptd

import (
	"sync"

	"github.com/tandem-mc/tandem/peers/watch"
)

// savedTimers are the timers that were set when a group's images were saved. Safe for concurrent
// use: images of one group make room for those of another.
type savedTimers struct {
	mu      sync.Mutex
	byImage map[string]watch.Saved
}

// keep notes the timers of a new image.
func (t *savedTimers) keep(image string, s watch.Saved) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byImage == nil {
		t.byImage = map[string]watch.Saved{}
	}
	t.byImage[image] = s
}

// of returns those of an image, to be restored once.
func (t *savedTimers) of(image string) watch.Saved {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byImage[image].Copy()
}

// forget is for images that are gone.
func (t *savedTimers) forget(images ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, image := range images {
		delete(t.byImage, image)
	}
}
