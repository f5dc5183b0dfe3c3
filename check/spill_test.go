package check

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// TestSpillingCheck: with hardly any memory for the answers of the peers the verdict is the same, and
// if they cannot be read back that is an error.
func TestSpillingCheck(t *testing.T) {
	o := httpGet.inMemory(t)
	want := check(t, o).Verdict
	o = httpGet.inMemory(t)
	o.CacheBytes = 29_000
	r, err := newRun(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	spilled := 0
	r.kind = func(*sut.Log, explore.Outcome) string {
		spilled = r.peers.cache.Stats().Spilled
		return ""
	}
	result, err := r.finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict != want || spilled == 0 {
		t.Errorf("%+v with %d answers spilled, %+v; without %+v", result.Verdict, spilled, r.peers.cache.Stats(), want)
	}
}

func TestLostAnswersAreAnError(t *testing.T) {
	r, err := newRun(context.Background(), httpGet.inMemory(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.executor.close()
	defer r.peers.close()
	runOnce(t, r, sut.Schedule{})
	file := &spillFile{}
	if _, err := file.Append([]byte("something")); err != nil {
		t.Fatal(err)
	}
	r.peers.cache.SpillTo(file)
	r.peers.cache.Limit(1)
	conn := r.executor.talk
	conn.rewind()
	in := sut.Input{Kind: sut.Connect, Address: "127.0.0.1:1", Name: 1}
	if _, err := conn.Exchange(in); err == nil { // no room, so all is spilled
		t.Fatal("there is room")
	}
	if err := file.file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	var lost *iocache.SpillError
	if _, err := r.executor.worker.Run(sut.Schedule{}, r.executor.answers()); !errors.As(err, &lost) || !strings.Contains(err.Error(), "cannot read back") {
		t.Errorf("the error is %v", err)
	}
}
