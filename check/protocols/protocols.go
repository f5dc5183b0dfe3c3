// Package protocols has several processes check a model of package protocol together, on this
// machine and on others. The model is Go code of the user: a test, or a program. All processes run
// it. One of them leads, and each of the others does a part of the search.
package protocols

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/far"
	"github.com/tandem-mc/tandem/check/internal/members"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/protocol/session"
	"github.com/tandem-mc/tandem/sut"
)

// Options say what is checked, and by whom.
type Options struct {
	far.Options
	// Package is that of the model, as the go command names it.
	Package string
	// Tests is a regular expression for the tests to run; empty: the package is a program.
	Tests string
	// Args are for the program, or for the test binary.
	Args []string
	// Parts is into how many the search is divided, Partition by what: hash, part, estimate, or
	// part= with numbers of nodes.
	Parts     int
	Partition string
	// Checkpoint is the least time between two checkpoints of a part; zero: there are none.
	Checkpoint time.Duration
	// Stdout and Stderr take what the program that leads prints.
	Stdout, Stderr io.Writer
}

// maxParts bounds how many parts there may be: each sends messages to each other one.
const maxParts = 256

// refusal says what is wrong with options; nil: nothing is.
func (o *Options) refusal() error {
	switch {
	case o.Server == "":
		return errors.New("a search of several processes needs a NATS server: name it with --distribute, " +
			"or give embedded; go test checks a model in one process")
	case o.Parts < 1 || o.Parts > maxParts:
		return fmt.Errorf("there are %d parts: give a number from 1 to %d", o.Parts, maxParts)
	case o.Checkpoint < 0:
		return fmt.Errorf("--checkpoint %v is less than no time: give 0 for no checkpoints", o.Checkpoint)
	}
	if _, err := session.ParsePartition(o.Partition); err != nil {
		return fmt.Errorf("--partition %s: %w", o.Partition, err)
	}
	return nil
}

// Check has a model checked. It builds the program, gives it to the workers, and runs it once here:
// that is the process that leads. What the program says is its result; the error is nil if it has
// ended with 0.
func Check(ctx context.Context, o Options) error {
	if err := o.refusal(); err != nil {
		return err
	}
	// Workers of another build may count or divide in another way, and are refused.
	own, err := far.Identity()
	if err != nil {
		return err
	}
	dir, clean, err := scratch.Make()
	if err != nil {
		return err
	}
	defer clean()
	program := filepath.Join(dir, "program")
	o.Say("building %s", o.Package)
	setup, err := o.build(ctx, program)
	if err != nil {
		return err
	}
	hash, err := sut.HashFile(program)
	if err != nil {
		return err
	}
	known, err := json.Marshal(setup)
	if err != nil {
		return err
	}
	key, err := keyOf(hash, *setup)
	if err != nil {
		return err
	}
	run := distribute.Run{Package: o.Package, Identity: own, Program: hash, Setup: known, Key: key}
	gone := func(m distribute.Member, reason string, byItself bool) []byte {
		data, _ := session.Gone(session.Ended{Part: m.Part, Process: m.Process, Reason: reason,
			ByItself: byItself}) // numbers and a text
		return data
	}
	s, err := distribute.LeadShares(ctx, distribute.Options{URL: o.Server, Login: o.Login, Dir: dir,
		Say: o.Say}, run, program, members.Become, gone)
	if err != nil {
		return err
	}
	o.Say("workers join with: tandem worker %s", s.URL())
	// The process here does no part: it adds up what the others report.
	ends, err := s.Ends(ctx)
	if err == nil {
		hello := &session.Hello{Front: true, Parts: o.Parts, Partition: o.Partition, Last: s.Last(),
			Ends: ends}
		err = members.Run(ctx, *setup, program, hello,
			members.Wires{Post: s, Start: s.Start, Keep: s.Keep, Forget: s.Forget, Tell: s.Tell},
			o.Stdout, o.Stderr)
	}
	// Only the program knows that its search has ended. If something else has ended the program,
	// what is stored stays, so whoever begins it again loses little. What happens from here on,
	// such as Ctrl-C, does not change that any more.
	goesOn := !members.HasEnded(err)
	s.Close(goesOn)
	if goesOn {
		o.Say("%s", next(s.IsEmbedded(), s.Stored()))
	}
	return explained(ctx, err)
}

// keyOf is what is the same for searches that go on with each other. Where the program runs does
// not change its states, nor does how often parts save them.
func keyOf(program string, s members.Setup) (string, error) {
	s.Dir, s.Every = "", 0
	known, err := json.Marshal(s)
	key := sha256.Sum256(append([]byte(program), known...))
	return hex.EncodeToString(key[:8]), err
}

// next says what the next search of the same has of one that has not ended.
func next(isEmbedded bool, stored distribute.Stored) string {
	switch {
	case isEmbedded:
		return "the server has ended with this search, so the next one begins anew: name a server that stays"
	case stored == distribute.StoredNothing:
		return "the search has not begun, so nothing is at the server, and the same command begins anew"
	case stored == distribute.StoredMessages:
		return "the same command goes on, but no part has a checkpoint at the server: all repeat their levels"
	}
	return "the same command goes on, with the checkpoints that the server has of each part"
}

// explained says what has happened to a program that was ended by somebody else.
func explained(ctx context.Context, err error) error {
	var exit *exec.ExitError
	if ctx.Err() == nil && errors.As(err, &exit) && !exit.Exited() {
		return fmt.Errorf("the process that leads was ended (%w), by somebody or by the system, as when "+
			"memory is short: run the same command again", err)
	}
	return err
}

// build builds the program with the Go of the user: nothing of it is patched, since nodes of a
// model are run by package protocol and not by a scheduler.
func (o *Options) build(ctx context.Context, program string) (*members.Setup, error) {
	s := &members.Setup{Args: o.Args, Parts: o.Parts, Partition: o.Partition, Every: o.Checkpoint}
	// A commit of something else does not make it another program.
	args := []string{"build", "-buildvcs=false", "-o", program, o.Package}
	if o.Tests != "" {
		args = []string{"test", "-c", "-o", program, o.Package}
		// Tests come to their models in the same order everywhere.
		s.Args = append([]string{"-test.run=" + o.Tests, "-test.v", "-test.timeout=0", "-test.parallel=1"},
			o.Args...)
	}
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Stderr = &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", o.Package, err, strings.TrimSpace(errs.String()))
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%s has neither tests nor a program: name another package", o.Package)
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Name}} {{.Dir}}", o.Package).Output()
	if err != nil {
		return nil, fmt.Errorf("where %s is: %w", o.Package, err)
	}
	name, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	// The go command builds any package, and only a program can be run.
	if o.Tests == "" && name != "main" {
		return nil, fmt.Errorf("package %s is no program: give --run TEST", name)
	}
	// A test runs in the directory of its package, a program where it was started.
	if s.Dir = dir; o.Tests == "" {
		s.Dir, err = os.Getwd()
	}
	return s, err
}
