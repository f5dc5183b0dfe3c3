// Tandem checks ordinary Go network programs against real peers.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/distributed"
	"github.com/tandem-mc/tandem/proxy"
)

// called is the name by which this program was started. By the names of the daemon and the proxy it
// is these, so that one file is all that has to be installed.
var called = filepath.Base(os.Args[0])

func init() {
	if called == proxy.Program {
		runtime.LockOSThread() // see proxy.Run
	}
}

func main() {
	switch called {
	case ckptd.Program:
		os.Exit(ckptd.Main(os.Args[1:]))
	case proxy.Program:
		os.Exit(proxy.Main(os.Args[1:]))
	}
	os.Exit(checker())
}

// checker is Tandem itself. It cleans up before it ends, also when a signal ends it: peers and
// scratch directories must go.
func checker() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(),
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// With this, writing to a closed pipe is an error. Otherwise it would end the process, and
	// nobody would clean up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The collector and the scheduler of this process are set for a search, until end.
	end := check.TuneProcess()
	code = run(ctx, os.Args[1:])
	stop()
	end()
	return code
}

// released is the version of a release, which the linker sets: see scripts/release.sh. It is empty
// in all other builds.
var released string

// version is what the build knows of its source, and the release of Go.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(released, info)
}

// versionOf is the version of a release, or of the module, as go install ...@VERSION has it. A
// build in a working tree has neither, but the revision, if the go command has looked for it.
func versionOf(released string, info *debug.BuildInfo) string {
	if info == nil { // it was not built by the go command
		return cmp.Or(released, "unknown")
	}
	// A release is built without what the version control knows, and may be changed by nobody.
	text := cmp.Or(released, info.Main.Version, "(devel)")
	if text == "(devel)" {
		// Pseudo-versions have the revision in them already.
		setting := map[string]string{}
		for _, s := range info.Settings {
			setting[s.Key] = s.Value
		}
		const letters = 12 // as many as in a pseudo-version
		if revision := setting["vcs.revision"]; revision != "" {
			text += " at " + revision[:min(letters, len(revision))]
		}
		if setting["vcs.modified"] == "true" {
			text += ", changed"
		}
	}
	return text + ", " + info.GoVersion
}

// rootCommand has all commands below it. It is made anew for each run, since flags keep their
// values in it. Messages are not printed by cobra: run does that.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Model checker for Go programs that talk to real peers",
		Long: `Tandem runs an unmodified Go program through its possible goroutine schedules, while the other
side of its connections is a real process. To try another schedule, Tandem rewinds both sides:
requests that were answered before come from a cache, and before a new request the process is
restored from a checkpoint.

Exit codes: 0 holds, 1 violated, 2 unknown, 3 error.`,
		Example: `  tandem doctor
  tandem check ./cmd/client
  tandem test ./...
  tandem replay client.counterexample`,
		Version: version(),
		// Errors are printed by run, and a usage text would hide them.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(checkCommand(), testCommand(), compareCommand(), replayCommand(), showCommand(),
		debugCommand(), cacheCommand(), peersCommand(), ckptdCommand(), doctorCommand(), initCommand(),
		configCommand(), versionCommand(), manCommand(), distributed.Worker(), distributed.Status(),
		distributed.Protocol(verdictOf))
	root.InitDefaultHelpCmd() // now, so that they are listed with the others
	root.InitDefaultCompletionCmd()
	complete(root)
	describeCompletion(root)
	// The help of a command shows its flags in groups; that of tandem, its commands.
	groupCommands(root)
	adviseOnUsage(root)
	root.SetUsageFunc(writeUsage)
	return root
}

// run runs a command to its end and returns the exit code. An error that is no verdict is printed
// to standard error in one place, without characters that a terminal would act on: it may name
// files of the peers.
func run(ctx context.Context, args []string) int {
	args, err := likeGoTest(args)
	verbose := true // what goes wrong before there is a command names the flag, as most have it
	if err == nil {
		root := rootCommand()
		root.SetArgs(args)
		var c *cobra.Command
		c, err = root.ExecuteContextC(ctx)
		verbose = c.Flags().Lookup("verbose") != nil
		// Cobra's own message has several lines, and no advice.
		if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
			near := strings.Join(append(root.SuggestionsFor(args[0]), ""), ", ")
			err = fmt.Errorf("there is no command %q: choose %sor see tandem --help for all", args[0], near)
		}
	}
	var verdict verdictError
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &verdict):
		return int(verdict)
	}
	if ctx.Err() != nil { // what was started for it, such as the compiler, was ended with it
		err = fmt.Errorf("interrupted: %w; run it again for a result", err)
	}
	printError(os.Stderr, err, verbose)
	// An error of any kind: what was wrong is on standard error.
	return exitError
}
