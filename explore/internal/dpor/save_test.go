package dpor

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// TestResumeAlternativesNowhere: a damaged state that has alternatives where nothing was executed
// is refused.
func TestResumeAlternativesNowhere(t *testing.T) {
	d := New()
	p := testkit.ParseProgram("main: go p; go q\np: store x 1\nq: store x 2")
	testkit.ExecuteOne(t, d, p)
	d.Next()
	top := len(d.nodes) - 1
	for name, nodes := range map[string][]byte{"the last node": {byte(top)}, "one twice": {0, 0}} {
		e := &codec.Encoder{}
		d.Save(e)
		from := &codec.Decoder{Data: append(append(e.Data[:len(e.Data)-1], byte(len(nodes))), nodes...)}
		if New().Resume(from); !strings.Contains(from.Problem, "damaged") {
			t.Errorf("%s: %s", name, from.Problem)
		}
	}
}

// TestPartThatIsFull: a part goes no further when it has much to tell.
func TestPartThatIsFull(t *testing.T) {
	d := New()
	p := testkit.ParseProgram("main: go p; go q; store x 1\np: store x 2\nq: store x 3")
	testkit.ExecuteOne(t, d, p)
	part := d.Split(core.Size{Enough: 1000}) // the largest
	if part == nil {
		t.Fatal("there is nothing to take")
	}
	testkit.ExecuteOne(t, part, p)
	part.Search.(*Search).exported.clocks.take(maxExported)
	if _, more := part.Next(); more {
		t.Error("it goes on")
	}
}
