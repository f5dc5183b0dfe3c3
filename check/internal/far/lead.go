package far

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/members"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// Options say which workers in other processes help with a check.
type Options struct {
	// Server is the URL of a NATS server, or embedded: then it is in this process. Empty: nobody is
	// to help.
	Server string
	Login  distribute.Login
	// Say is told what happens to the workers; nil: nobody is.
	Say func(format string, a ...any)
	// Of tests: Lead waits for so many workers. Joined is called when they are there, with what
	// says how many parts are done, or -1 when the check has ended.
	Awaited int
	Joined  func(parts func() int)
	// Answers is how many bytes the answers of peers may take that are kept for workers; 0:
	// driver.MaxShared.
	Answers int64
	server  *kept // see Keep
}

// kept is a server in this process that stays for several checks.
type kept struct {
	*distribute.Server
	told bool // how workers join
}

// Keep has a server in this process stay for several checks, one after the other, until end is
// called. If it cannot be started, the first check says why.
func (o *Options) Keep() (end func()) {
	nothing := func() {}
	dir, clean, err := scratch.Make()
	if err != nil {
		return nothing
	}
	s, err := distribute.Serve(distribute.Options{URL: o.Server, Login: o.Login, Dir: dir})
	if err != nil || s == nil {
		clean()
		return nothing
	}
	o.server = &kept{Server: s}
	return func() {
		s.Close()
		clean()
	}
}

// Shared is how many bytes the answers of peers may take that are kept for workers; 0: there are
// no workers.
func (o *Options) Shared() int64 {
	if o.Server == "" {
		return 0
	}
	return cmp.Or(o.Answers, driver.MaxShared)
}

// Flags are the flags with which the same workers help again, each after a blank. A password in the
// URL of the server is left out. Empty: there are no workers.
func (o *Options) Flags() string {
	if o.Server == "" {
		return ""
	}
	flags := " --distribute " + textutil.QuoteArg(distribute.WithoutSecret(o.Server))
	l := o.Login
	for _, f := range [...][2]string{{"creds", l.Credentials}, {"nkey", l.NKey}, {"ca", l.CA},
		{"cert", l.Certificate}, {"key", l.Key}} {
		if f[1] != "" {
			flags += " --nats-" + f[0] + " " + textutil.QuoteArg(f[1])
		}
	}
	return flags
}

// Identity is what leaders and workers have to have in common.
func Identity() (distribute.Identity, error) {
	// The hash says it all. The rest is for the message when it differs.
	i := distribute.Identity{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		i.Go, i.Version = info.GoVersion, info.Main.Version
	}
	var err error
	i.Tandem, err = sut.HashFile("/proc/self/exe")
	return i, err
}

// Refusal says why a check cannot be distributed; nil: it can. Parts of other searches are not
// written, and peers answer in one place.
func (o *Options) Refusal(search string, c *configs.Config) error {
	// Flags that mean nothing come first, since they are easily mended.
	switch {
	case o.Server == "" && o.Login != (distribute.Login{}):
		return errors.New("--nats-creds, --nats-nkey, --nats-ca, --nats-cert and --nats-key are for a NATS " +
			"server: name it with --distribute")
	case (o.Login.Certificate == "") != (o.Login.Key == ""):
		return errors.New("--nats-cert and --nats-key go together: give both")
	case o.Server == "":
		return nil
	case search != "auto" && search != "dpor":
		return errors.New("--distribute divides the searches auto and dpor: leave it out, or choose one of " +
			"these")
	case len(c.Nodes) == 0 && (c.Bounds.Preemptions != nil || c.Bounds.Delays != nil):
		return errors.New("--distribute divides searches without bounds on preemptions or delays: leave it " +
			"out, or these")
	}
	return nil
}

// Lead has the workers of a server help with a check; nil if nobody is to. The executor runs the
// program once, before the search does. The caller has to close the leader. A leader that is nil
// can be used, and does nothing.
func Lead(ctx context.Context, c *executor.Config, x *executor.Executor, o Options) (*Leader, error) {
	if o.Server == "" {
		return nil, nil
	}
	l := &Leader{lead: lead{options: o}, config: c, here: here{ctx: ctx, config: c}}
	if c.Peers != nil {
		l.published, l.lead.answer = driver.Publish(c.Peers), l.answer
	}
	known, err := setupOf(c, x, l.published)
	if err != nil {
		return nil, fmt.Errorf("telling workers what to check: %w", err)
	}
	// The program is given out under its hash, so that a worker sees whether it has got all of it.
	err = l.begin(ctx, distribute.Run{Package: c.Package, Program: c.Program.Hash, Setup: known},
		c.Program.Path)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// lead is what all have who lead a check.
type lead struct {
	*distribute.Leader
	options Options
	answer  distribute.Answer // of the peers; nil: workers ask nothing
	clean   func()            // removes the directory of the server
}

// begin has workers come, which get a file.
func (l *lead) begin(ctx context.Context, run distribute.Run, file string) error {
	if l.options.Say == nil {
		l.options.Say = func(string, ...any) {}
	}
	// Everything that can go wrong without a server is done before one is started.
	var err error
	if run.Identity, err = Identity(); err != nil {
		return err
	}
	dir, clean, err := scratch.Make()
	if err != nil {
		return err
	}
	o := l.options
	at := distribute.Options{URL: o.Server, Login: o.Login, Dir: dir, Say: o.Say, Answer: l.answer}
	again := false
	if o.server != nil {
		at.Server, again, o.server.told = o.server.Server, o.server.told, true
	}
	l.Leader, err = distribute.Lead(ctx, at, run, file)
	if err != nil {
		clean()
		return err
	}
	l.clean = clean
	if !again {
		o.Say("workers join with: tandem worker %s", l.URL())
	}
	l.await(ctx)
	return nil
}

// await waits for workers, in tests.
func (l *lead) await(ctx context.Context) {
	// Checks of users do not wait: workers take part as they come.
	const pause = 20 * time.Millisecond
	look := time.NewTicker(pause)
	defer look.Stop()
	for l.Workers() < l.options.Awaited && ctx.Err() == nil {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	if l.options.Joined != nil {
		l.options.Joined(func() int {
			if l.Ended() {
				return -1
			}
			return l.Progress().Parts.Done
		})
	}
}

// Close ends what Lead has started, after a search in which so many executions were in vain.
func (l *Leader) Close(inVain int) {
	if l == nil {
		return
	}
	// The search has ended, so nobody asks for executions any more.
	l.here.close()
	// What was in vain was explored twice, or for a part that the search did not come to as it was.
	// A search has some of that alone, too, for which workers that never came cannot be blamed.
	if l.Progress().Parts.Given == 0 {
		inVain = 0
	}
	l.end(inVain)
	l.sayAsked()
}

// end says what the workers have done, and ends what begin has started.
func (l *lead) end(inVain int) {
	l.options.Say("%s", explored(l.Progress(), inVain))
	l.leave()
}

// explored says what the workers have done, and how many executions were in vain. Most of these
// were run for a part that the search has not come to when it ends, by a worker or here.
func explored(p distribute.Progress, inVain int) string {
	c := p.Parts
	text := fmt.Sprintf("the workers have explored %s, in %s of %s",
		textutil.CountOf(c.Executions, "execution"), textutil.Count(c.Done),
		textutil.CountOf(c.Given, "part"))
	if n := c.Repeated + inVain; n > 0 {
		text += fmt.Sprintf("; of all executions, by workers and here, %s do not count: the search did "+
			"not come to them, or had them already", textutil.Count(n))
	}
	return text
}

// leave ends what begin has started. It may be called twice.
func (l *lead) leave() {
	l.Leader.Close()
	l.clean()
}

// Gather has workers that came meanwhile take part in a search.
func (l *Leader) Gather(ctx context.Context, p *pool.Pool, s *explore.Search) {
	if l == nil || l.letGo() {
		return
	}
	l.mayStop(p.Stop)
	// An executor that is not needed any more leaves the pool by itself (ExploreFar).
	for x := l.more(ctx); x != nil; x = l.more(ctx) {
		p.AddFar(x)
	}
	p.Still(func(pool.Tally) { l.Note(s.Verdict().Executions) })
}

// Work explores parts of the checks that are led at a server, until the context ends.
func Work(ctx context.Context, o Options) error {
	own, err := Identity()
	if err != nil {
		return err
	}
	return distribute.Work(ctx, distribute.Options{URL: o.Server, Login: o.Login, Say: o.Say}, own, start,
		members.Become)
}

// Status is what there is to know of a NATS server: the check that is led there, and the workers.
type Status = distribute.Status

// StatusOf is what there is to know of a NATS server. Nothing is changed there.
func StatusOf(ctx context.Context, o Options) (*Status, error) {
	return distribute.StatusOf(ctx, distribute.Options{URL: o.Server, Login: o.Login})
}
