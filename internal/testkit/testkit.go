// Package testkit has what the tests of several rooms need. What tests need of one room only
// belongs to that room.
package testkit

import (
	"testing"
	"time"
)

// Await waits until a condition holds, and ends the test where it does not within 20 s. It
// looks often, since tests wait much, and gives up late, since machines may be busy.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	// Many conditions are looked up in /proc, which takes a millisecond and more: who waits long
	// looks seldom, and leaves the processor to what is waited for.
	pause := 200 * time.Microsecond
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for this: %s", what)
		}
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Millisecond)
	}
}
