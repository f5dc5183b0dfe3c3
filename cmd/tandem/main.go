// Tandem checks ordinary Go network programs against real peers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitHolds    = 0
	exitViolated = 1
	exitUnknown  = 2
	exitError    = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
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
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(checkCommand(), replayCommand(), doctorCommand())
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var verdict verdictError
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &verdict):
		return int(verdict)
	}
	fmt.Fprintln(os.Stderr, "tandem:", err)
	return exitError
}
