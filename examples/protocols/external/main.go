// Command external measures searches whose states do not fit into memory: each in a process of its
// own, with some bounds on memory, and in memory. `make external` runs it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/internal/named"
	"github.com/tandem-mc/tandem/protocol"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "external:", err)
		os.Exit(1)
	}
}

// settings are those of the command line.
type settings struct {
	models, memory, dir, resume string
	workers                     int
	disk                        uint64
	single, reduce              bool
}

// megabyte is the unit of the bounds.
const megabyte = 1 << 20

// run prints a line for each model and bound. With -single there is one of each, and what comes of
// them is printed for the process that has started this one.
func run(args []string, out, progress io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("external", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&s.models, "models", "synod:1,twophase:8", "`list` of synod:ROUNDS (Paxos (2,3,1)), "+
		"acceptors:ACCEPTORS (with single messages), paxos:PROPOSALS (3 nodes) and twophase:MANAGERS")
	flags.StringVar(&s.memory, "memory", "0,512,64", "`list` of bounds in MB; 0 is a search in memory")
	flags.StringVar(&s.dir, "dir", os.TempDir(), "`directory` for the states")
	flags.StringVar(&s.resume, "resume", "", "`file` from which one search goes on")
	flags.IntVar(&s.workers, "workers", 1, "how many `goroutines` search")
	flags.Uint64Var(&s.disk, "disk", 0, "bound on the files in `MB`; 0 is none")
	flags.BoolVar(&s.reduce, "reduce", false, "leave out orders of steps")
	flags.BoolVar(&s.single, "single", false, "one search in this process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.single {
		return s.search(out, progress)
	}
	fmt.Fprintln(out, "| model | memory, MB | states | transitions | levels | processor, s | wall, s | "+
		"states a processor second | resident, MB | disk at most, MB | bytes a state |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	for model := range strings.SplitSeq(s.models, ",") {
		for memory := range strings.SplitSeq(s.memory, ",") {
			if err := s.row(model, memory, out, progress); err != nil {
				return err
			}
		}
	}
	return nil
}

// inMemory is the bound of a search in memory.
const inMemory = 64 << 30

// search does one search, and prints the result.
func (s *settings) search(out, progress io.Writer) error {
	m, err := named.Model(s.models)
	if err != nil {
		return err
	}
	memory, err := strconv.ParseUint(s.memory, 10, 40)
	if err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	o := protocol.Options{Workers: s.workers, Memory: inMemory, Resume: s.resume, Reduce: s.reduce,
		Output: progress}
	if memory > 0 {
		o.Memory, o.External, o.Disk = memory*megabyte, s.dir, s.disk*megabyte
	}
	r, err := protocol.Check(m, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// row does one search in a process of its own.
func (s *settings) row(model, memory string, out, progress io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, "-single", "-models", model, "-memory", memory, "-dir", s.dir,
		"-resume", s.resume, "-workers", strconv.Itoa(s.workers), "-disk", strconv.FormatUint(s.disk, 10),
		"-reduce="+strconv.FormatBool(s.reduce))
	c.Stderr = progress
	data, err := c.Output()
	if err != nil {
		return fmt.Errorf("%s in %s MB: %w", model, memory, err)
	}
	var r protocol.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if r.Verdict != protocol.Holds {
		return fmt.Errorf("%s in %s MB: %v", model, memory, &r)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("this system does not say what a process has used")
	}
	processor := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	fmt.Fprintln(out, line(model, memory, &r, processor, usage.Maxrss))
	return nil
}

// line is a line of the table. The system counts resident memory in kilobytes.
func line(model, memory string, r *protocol.Result, processor time.Duration, resident int64) string {
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %.1f | %.1f | %.0f | %d | %.1f | %.1f |", model, memory,
		r.States, r.Transitions, r.Depth+1, processor.Seconds(), r.Elapsed.Seconds(),
		float64(r.States)/processor.Seconds(), resident>>10, float64(r.Disk)/megabyte,
		float64(r.Disk)/float64(max(r.States, 1)))
}
