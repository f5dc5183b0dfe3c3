// Command together checks models with several processes: tandem protocol runs it. Started by
// itself, it checks them alone, with one goroutine.
//
//	together -external /var/tmp -memory 512 twophase:10
package main

import (
	"flag"
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

// options reads flags. What is left are names of models.
func options(args []string, log io.Writer) (o protocol.Options, names []string, err error) {
	flags := flag.NewFlagSet("together", flag.ContinueOnError)
	flags.SetOutput(log)
	external := flags.String("external", "", "directory for states that memory has no room for")
	memory := flags.Uint64("memory", 16<<10, "bound on the memory of each process, in MB")
	disk := flags.Uint64("disk", 0, "bound on the files of each process, in MB")
	reduce := flags.Bool("reduce", false, "leave out orders of steps that make no difference")
	err = flags.Parse(args)
	return protocol.Options{Workers: 1, Memory: *memory << 20, External: *external, Disk: *disk << 20,
		Reduce: *reduce, Output: log}, flags.Args(), err
}

// run checks models by their names, one after the other. What it prints of each is the same however
// many processes there are; what they have done goes to the log.
func run(args []string, out, log io.Writer) error {
	o, names, err := options(args, log)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no model: name some, such as twophase:8")
	}
	for _, name := range names {
		m, err := named.Model(name)
		if err != nil {
			return err
		}
		r, err := protocol.Check(m, o)
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
