package sut_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// TestGarbageIsCollectedMeanwhile: an execution that lasts does not keep the checker from collecting
// garbage, for which all of its goroutines have to stop.
func TestGarbageIsCollectedMeanwhile(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"spin"}, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan error, 1)
	go func() {
		defer w.Stay()()
		_, err := w.Run(sut.Schedule{}, nil)
		ended <- err
	}()
	for range 5 {
		runtime.GC()
		runtime.Gosched()
	}
	select {
	case err := <-ended:
		t.Errorf("the execution ended, which it does not by itself: %v", err)
	default:
	}
	w.Interrupt()
	if err := <-ended; err == nil {
		t.Error("an execution that was interrupted ended well")
	}
}
