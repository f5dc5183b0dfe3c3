// Command together checks a model with several processes: tandem protocol runs it. Started by
// itself, it checks the model alone, with one goroutine.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tandem-mc/tandem/examples/protocols/internal/named"
	"github.com/tandem-mc/tandem/protocol"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "together:", err)
		os.Exit(1)
	}
}

// memory is the bound on that of each process.
const memory = 16 << 30

// run checks models by their names, one after the other. What it prints of each is the same however
// many processes there are; what they have done goes to the log.
func run(names []string, out, log io.Writer) error {
	if len(names) == 0 {
		return fmt.Errorf("there is no model: name some, such as twophase:8")
	}
	for _, name := range names {
		m, err := named.Model(name)
		if err != nil {
			return err
		}
		r, err := protocol.Check(m, protocol.Options{Workers: 1, Memory: memory, Output: log})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %v, %d states, %d transitions, depth %d, %d local states, %d messages, "+
			"%d handlers run\n", name, r.Verdict, r.States, r.Transitions, r.Depth, r.Locals, r.Messages,
			r.Handlers)
		if r.Violation != nil {
			fmt.Fprintf(out, "%s\n%s", r.Violation.What, r.Violation.Chart)
		}
		if r.Shares != "" {
			fmt.Fprintln(log, r.Shares)
		}
	}
	return nil
}
