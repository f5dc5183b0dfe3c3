package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/recording"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Job is a request that has been understood: no name in it is wrong. Nothing is built yet. A Job
// can be run once.
type Job struct {
	request Request
	options Options
	before  time.Duration // that a run which goes on has taken already
}

// NewJob sees that a request can be fulfilled, as far as that shows without starting anything. If
// it goes on with a saved run, everything that the result depends on must be as it was. An error
// says which part of the request is wrong, or what has changed.
func NewJob(r Request) (*Job, error) {
	if len(r.Args) > 0 {
		r.Config.Args = r.Args
	}
	j := &Job{request: r}
	err := r.Distribution.Refusal(r.Search.Name, &r.Config)
	if err != nil {
		return nil, err
	}
	if j.before, err = r.goesOn(); err != nil {
		return nil, err
	}
	j.options, err = r.options(j.before)
	return j, err
}

// goesOn says how long the run has taken that the request goes on with; 0: it begins one. An error
// says what has changed since it began.
func (r Request) goesOn() (time.Duration, error) {
	if r.Resume == nil {
		return 0, nil
	}
	now, err := r.describe()
	if err != nil {
		return 0, err
	}
	if err := r.Resume.asked.unchanged(now); err != nil {
		return 0, err
	}
	// The time counts only for the same request.
	return r.Resume.run.Elapsed(), nil
}

// Workers is how many executions the job runs at the same time, at most. The bound is the one of
// the options, not the number of processors.
func (j *Job) Workers() int { return j.options.Workers }

// Run does the job: it builds the program, starts what takes part, and searches. Results and errors
// are those of the function Run; Result.Summary is filled in, too. The run is saved, and the
// answers of the peers are kept, as the request says.
func (j *Job) Run(ctx context.Context, listener Listener) (*Result, error) {
	o := j.telling(listener)
	var err error
	if o.Saving, err = j.request.saving(listener.Say); err != nil {
		return nil, err
	}
	if o.Kept, err = j.request.openKept(o.Masks, listener.Say); err != nil {
		return nil, err
	}
	if o.Kept != nil {
		defer func() {
			if err := o.Kept.Close(); err != nil {
				listener.Say("%v", err)
			}
		}()
	}
	program, clean, err := scratch.BuildTold(ctx, j.buildOptions(), listener.Say, "building "+o.Package)
	if err != nil {
		return nil, err
	}
	defer clean()
	o.Program = program
	var result *Result
	err = j.withDaemon(ctx, listener, &o, func() (err error) {
		result, err = Run(ctx, o)
		return err
	})
	if result == nil {
		return nil, err
	}
	result.Summary, result.ImportPath = Summary(o, result), program.ImportPath
	// The command that goes on is shown with raised bounds, if one of them has ended the check.
	if result.Saved != "" {
		again := resumeCommand(result.Saved, j.request.Distribution)
		result.Summary.ResumeCommand = again + raised(j.request.Config.Bounds, result)
		if err != nil {
			err = fmt.Errorf("%w\nwhat was saved before stays: %s", err, again)
		}
	}
	return result, err
}

// maxSurveys bounds how often a survey runs the program: once, and again while it looks up names
// that it did not before.
const maxSurveys = 3

// Survey runs the program without peers and says whom it dials, and where it listens. That is one
// execution, within the bounds of the configuration. A name that it looks up leads to an address of
// its own in another execution, so that the port is known, too. An execution that fails is none the
// worse: a program without peers may fail. The job is not to be run besides.
func (j *Job) Survey(ctx context.Context, listener Listener) (d configs.Draft, err error) {
	doing := "building " + j.options.Package
	program, clean, err := scratch.BuildTold(ctx, j.buildOptions(), listener.Say, doing)
	if err != nil {
		return d, err
	}
	defer clean()
	// By their addresses, the names that were looked up so far.
	hosts := map[netip.Addr]string{}
	for range maxSurveys {
		o, err := j.request.options(0)
		if err != nil {
			return d, err
		}
		o.Program = program
		for at, name := range hosts {
			o.World.Hosts = append(slices.Clone(o.World.Hosts), at.String()+" "+name)
		}
		// The order of a map must not reach the program.
		slices.Sort(o.World.Hosts)
		r, err := newRun(ctx, o, interest{})
		if err != nil {
			return d, err
		}
		if result, err := r.finish(); result == nil {
			return d, err
		}
		d = r.config.Dials.Draft()
		d.Package, d.Args = j.request.Package, j.request.Config.Args
		if !dials.Resolve(&d, hosts) {
			break
		}
	}
	return d, nil
}

// telling returns the options of a job, with a listener who is told what happens. The options are a
// copy.
func (j *Job) telling(listener Listener) Options {
	o := j.options
	o.Progress, o.Distribution.Say = listener.Progress, listener.Say
	o.Contradicted = func(err error) {
		listener.Say("scope auto: %v\nThe search starts over in group scope.", err)
	}
	return o
}

// buildOptions says how the program is built. That its tests are is for the caller to add.
func (j *Job) buildOptions() sut.BuildOptions {
	r := j.request
	return sut.BuildOptions{
		Dir: j.options.Dir, Package: r.Package, PreemptIn: r.Config.PreemptIn, Races: r.Config.Races,
		Tags: r.Tags,
	}
}

// withDaemon calls do with a checkpoint daemon in the options, which ends afterwards. Without peers
// there is none. Where it cannot be started, the check goes on with answers that are known already,
// if there may be some. The error of the daemon's end is joined to that of do.
func (j *Job) withDaemon(ctx context.Context, listener Listener, o *Options, do func() error) error {
	if j.request.Config.Group == nil {
		return do()
	}
	client, err := j.connect(ctx, listener.Log)
	if err != nil {
		if o.Kept == nil || ctx.Err() != nil {
			return err
		}
		o.Unstarted = err
		o.Without = []string{fmt.Sprintf("peers: all answers are those kept in %s: %v", o.Kept.Path(), err)}
		listener.Say("running without %s", o.Without[0])
		return do()
	}
	o.Client, o.Without = client, client.Without()
	for _, line := range o.Without {
		listener.Say("running without %s", line)
	}
	if method, why := client.Quiescence(); why != nil && listener.Log != nil {
		fmt.Fprintf(listener.Log, "eBPF cannot be loaded, so quiescence is told by %s: %v\n", method, why)
	}
	err = do()
	return errors.Join(err, client.Close())
}

// connect starts a checkpoint daemon, or attaches to the shared one that the request names. The
// caller has to close it.
func (j *Job) connect(ctx context.Context, log io.Writer) (*ckptd.Client, error) {
	config := j.request.Config
	o := ckptd.Options{
		Backend: config.Backend, MaxBytes: int64(config.CheckpointMib) << 20,
		Quiescence: config.Quiescence, Log: log,
	}
	if j.request.Daemon != "" {
		return ckptd.Dial(ctx, j.request.Daemon, o)
	}
	client, err := ckptd.Spawn(ctx, o)
	if errors.Is(err, ckptd.ErrNoCRIU) { // which was asked for, else others would do
		err = fmt.Errorf("%w; or take another --backend than %s", err, config.Backend)
	}
	return client, err
}

// SharedDaemon is a checkpoint daemon that several checks use at the same time.
type SharedDaemon = ckptd.SharedDaemon

// DefaultDaemon is the shared daemon that is meant where nothing is said.
func DefaultDaemon() SharedDaemon { return ckptd.DefaultDaemon() }

// PackageDirectory is the directory of a package, which the user names by a directory, by its
// import path or by its files. What is wrong with the name is left for the build to say. Of several
// packages that match, it is the first.
func PackageDirectory(ctx context.Context, tags []string, pkg string) string {
	if info, err := os.Stat(pkg); err == nil && info.IsDir() {
		return pkg
	}
	list, err := Packages(ctx, tags, pkg)
	if err != nil {
		return pkg
	}
	return list[0].Dir
}

// Replayed is what a recorded schedule leads to in a program that may have changed since.
type Replayed = recording.Replayed

// Replay runs a recorded counterexample again, without peers, times times. An error says in which
// run the very program that was recorded went another way. A program that has changed is followed
// as far as it agrees.
func Replay(p *sut.Program, rec *report.Recording, times int) (*Replayed, error) {
	return recording.Replay(p, rec, times)
}

// ReplayHere builds the program of a recording in a directory, and replays the recording so many
// times; see Replay. A different build is no error: the recording may still replay. The program
// runs in that directory. A recording that was a string names where it runs from the package on.
func ReplayHere(ctx context.Context, r *report.Recording, dir string, times int) (*Replayed, error) {
	there, program, clean, err := buildRecorded(ctx, r, dir, false)
	if err != nil {
		return nil, err
	}
	defer clean()
	return Replay(program, there, times)
}

// buildRecorded builds the program of a recording in a directory. The recording that it returns is
// a copy, with the directory in which the program runs. The caller has to clean up. A program that
// is to be debugged takes the same steps.
func buildRecorded(ctx context.Context, r *report.Recording, dir string, debugged bool) (
	*report.Recording, *sut.Program, func(), error) {
	there := *r
	program, clean, err := scratch.Build(ctx, sut.BuildOptions{
		Dir: dir, Package: r.Program.Package, Tests: r.Program.Tests, PreemptIn: r.Program.Preemptible,
		Races: r.Program.Races, Tags: r.Program.Tags, Debugged: debugged,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	there.Program.Directory = dir
	if from := r.Program.Directory; from != "" && !filepath.IsAbs(from) {
		there.Program.Directory = filepath.Join(program.Dir, from)
	}
	return &there, program, clean, nil
}
