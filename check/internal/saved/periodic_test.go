package saved

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// periodic is a Periodic of a run in a directory, which is opened if it is there.
func periodic(t *testing.T, dir string, interval time.Duration) *Periodic {
	t.Helper()
	run, err := Open(dir)
	if err != nil {
		if run, err = New(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(run.Close)
	return &Periodic{Run: run, Interval: interval, Failed: func(err error) { t.Error(err) },
		Asked: func() ([]byte, error) { return []byte(`"x"`), nil }}
}

// encoding is a search that is saved as a text.
func encoding(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// TestPeriodicOfOthers: what was saved of another program is not gone on with.
func TestPeriodicOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	p := periodic(t, dir, 1)
	if search, same := p.Begin("b1"); search != nil || !same {
		t.Errorf("a new run has %q, %t", search, same)
	}
	p.Save(encoding("one"), false) // the interval is over
	p.Save(encoding("two"), true)
	p.Run.Close()
	if search, same := periodic(t, dir, 1).Begin("b2"); search != nil || same {
		t.Errorf("another program goes on with %q, %t", search, same)
	}
}

// TestPeriodicGoesOn: a run that is opened has its search, and its time.
func TestPeriodicGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	p := periodic(t, dir, 0)
	p.Begin("b")
	p.Save(encoding("dropped"), false)
	if p.Run.State() != nil {
		t.Error("it was saved before its end, without an interval")
	}
	p.began = p.began.Add(-time.Hour)
	p.Save(encoding("kept"), true)
	p.Run.Close()
	again := periodic(t, dir, 0)
	search, same := again.Begin("b")
	if string(search) != "kept" || !same || time.Since(again.began) < time.Hour {
		t.Errorf("it goes on with %q, %t, after %v", search, same, time.Since(again.began))
	}
	again.End()
	if _, err := Open(dir); err == nil {
		t.Error("what was saved is still there")
	}
}

// TestPeriodicFails: that a check cannot be saved is told once, and does not end it.
func TestPeriodicFails(t *testing.T) {
	p := periodic(t, filepath.Join(t.TempDir(), "run"), 0)
	told := 0
	p.Failed = func(error) { told++ }
	p.Begin("b")
	for range 3 {
		p.Save(func() ([]byte, error) { return nil, errors.New("cannot be encoded") }, true)
	}
	if told != 1 || p.Run.State() != nil {
		t.Errorf("told %d times, %+v", told, p.Run.State())
	}
}
