package orphan

import (
	"strings"
	"testing"
)

// TestWatch: a goroutine that is left is named, and one of another call with the same label is not
// taken for it.
func TestWatch(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	err := Watch("1", func() error { go wait(end); return nil })
	if err == nil || !strings.Contains(err.Error(), "orphan.wait") {
		t.Errorf("a goroutine that is left: error %v", err)
	}
	begin, runs := make(chan struct{}), make(chan struct{})
	go func() {
		<-begin
		go func() {
			_ = Watch("2", func() error { close(runs); <-end; return nil })
		}()
		<-end
	}()
	// Meanwhile there is a goroutine more, of another caller.
	if err := Watch("2", func() error { close(begin); <-runs; return nil }); err != nil {
		t.Errorf("a goroutine of another call: error %v", err)
	}
}

func wait(end chan struct{}) { <-end }
