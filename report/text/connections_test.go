package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
)

// TestConnections: messages of one step are one, each way, and only what came after the last answer
// is unanswered.
func TestConnections(t *testing.T) {
	to := func(n int) report.Message { return report.Message{ToPeer: true, Data: make([]byte, n)} }
	from := func(n int) report.Message { return report.Message{Data: make([]byte, n)} }
	c := &report.Counterexample{Steps: []report.Step{
		{IO: []report.Message{{ToPeer: true, Event: "connect to 127.0.0.1:1"}, to(7)}, Source: "a.go:1"},
		{IO: []report.Message{to(3), from(10), from(2), to(5)}, Source: "a.go:2"},
		{IO: []report.Message{to(36), to(36)}, Source: "a.go:3"},
	}}
	p := printer.New(report.Options{})
	printConnections(p, c)
	const want = `
Connections to peers
  connection 0 to 127.0.0.1:1: the peer received 87 bytes, and sent 12 bytes
    it last sent 12 bytes in step 2                             a.go:2
    the program sent 5 bytes in step 2: the peer had sent nothing since  a.go:2
    the program sent 72 bytes in step 3: the peer had sent nothing since  a.go:3
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
