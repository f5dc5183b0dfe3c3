// Package grpc_test checks a client and a server of gRPC as two programs, and both in one.
package grpc_test

import (
	"errors"
	"os/exec"
	"testing"
)

// TestGRPC: within a bound on delays all is covered, as two programs and in one. Without it there
// is more in the client alone than so many executions.
func TestGRPC(t *testing.T) {
	const (
		holds   = 0
		unknown = 2
	)
	for _, c := range []struct {
		want int
		args []string
	}{
		{holds, []string{"check", ".", "--delays", "1"}},
		{holds, []string{"check", "./together", "--search", "dpor", "--delays", "1"}},
		{unknown, []string{"check", ".", "--executions", "500"}},
		{unknown, []string{"check", "./together", "--search", "dpor", "--executions", "500"}},
	} {
		out, err := exec.Command("../../../bin/tandem", c.args...).CombinedOutput()
		var exit *exec.ExitError
		got := holds
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("tandem %q: exit code %d, want %d\n%s", c.args, got, c.want, out)
		}
		t.Logf("%s", out)
	}
}
