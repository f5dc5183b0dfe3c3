package driver

import (
	"maps"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// TestClosedConnectionStaysClosed: of a checkpoint it is known where each connection stands, not in
// which order they came there. One that was closed before its listener is not open again after it.
func TestClosedConnectionStaysClosed(t *testing.T) {
	d := New(t.Context(), Config{Scope: iocache.Connection})
	x := d.cache.Cursor(iocache.Connection)
	for _, step := range []struct {
		in model.Input
		r  model.Reaction
	}{
		{model.Input{Kind: model.Listen, Name: "l", Addr: "0.0.0.0:80"}, model.Reaction{Opened: []int{0, 0}}},
		{model.Input{Kind: model.Close, Conn: 1}, model.Reaction{}},
		{model.Input{Kind: model.Close, Conn: 0}, model.Reaction{}},
		{model.Input{Kind: model.Send, Conn: 2, Data: []byte("x")}, model.Reaction{}},
	} {
		if _, err := x.Record(step.in, step.r); err != nil {
			t.Fatal(err)
		}
	}
	at := slices.Clone(x.At())
	want := map[int]bool{d.naming.number(d.naming.opened("l", 1), 0): false}
	for range 6 { // all orders
		if h, err := d.naming.historyOf(at); err != nil || !maps.Equal(h.open, want) {
			t.Errorf("at %v these are open: %v (%v), want %v", at, h.open, err, want)
		}
		at[1], at[2], at[3] = at[2], at[3], at[1]
		if slices.Equal(at, x.At()) {
			at[1], at[2] = at[2], at[1]
		}
	}
}
