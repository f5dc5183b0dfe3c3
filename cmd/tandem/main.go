// Tandem checks ordinary Go network programs against real peers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/report"
)

// Exit codes.
const (
	exitHolds    = 0
	exitViolated = 1
	exitUnknown  = 2
	exitError    = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// Writing to a closed pipe is an error then, and not the end: there is to clean up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Little is kept and much thrown away: a fourth of the time went into collecting it. The ballast is memory that nobody touches, so that the system gives
	// none for it. It has garbage collected when there are 160 MiB of it, and not 16, which two workers make together ten times in a second.
	ballast := make([]byte, 32<<20)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	// Who waits for a worker is in a system call, and wants to go on at once when it returns.
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	peers.KeepAwake()
	code := run(ctx, os.Args[1:])
	stop()
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// version is what the build knows of its source.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version + ", " + info.GoVersion
}

// verdictError ends a command with an exit code other than that of an error.
type verdictError int

func (e verdictError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Model checker for Go programs that talk to real peers",
		Long: "Tandem runs an unmodified Go program through its possible goroutine schedules, while the other\n" +
			"side of its connections is a real process that is taken back whenever the search goes back.\n\n" +
			"Exit codes: 0 holds, 1 violated, 2 unknown, 3 error.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(checkCommand(), testCommand(), compareCommand(), replayCommand(), cacheCommand(), peersCommand(), ckptdCommand(), doctorCommand())
	root.SetArgs(likeGoTest(args))
	err := root.ExecuteContext(ctx)
	var verdict verdictError
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &verdict):
		return int(verdict)
	}
	if ctx.Err() != nil { // what was started for it, such as the compiler, was ended with it
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintln(os.Stderr, "tandem:", report.Printable(err.Error()))
	return exitError
}
