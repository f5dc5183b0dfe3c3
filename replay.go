package tandem

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// T is what Replay needs of a *testing.T.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// replayMark begins the line by which Replay tells the checker of a schedule. The checker takes it
// out of the output.
const replayMark = "\x16=== TANDEM REPLAY "

// Replay runs the schedule again that a check has printed with a failure. The schedule names the
// program or test that it is of, which is built from its source as it is now. In a directory of
// the module, `tandem replay SCHEDULE` does the same.
//
// Under `go test` it runs that command, which must be in the path: else the test is skipped. If the
// schedule leads to a violation again, the test fails with the counterexample. If it does not, the
// log says so, and at which step and line the program has parted from the schedule, and the test
// goes on.
//
// Under `tandem test`, in the test that the schedule is of, the search begins with it. It goes on
// with others if that is no violation any more. There Replay returns at once.
func Replay(t T, schedule string) {
	if _, _, errno := syscall.Syscall(call, choose, 1, 0); errno == 0 {
		// Nothing of t may be called: its lock would be a step that the schedule does not have.
		line := replayMark + schedule + "\n"
		syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(unsafe.StringData(line))),
			uintptr(len(line)))
		return
	}
	t.Helper()
	checker, err := exec.LookPath("tandem")
	if err != nil {
		t.Skipf("the schedule is not replayed: %v", err)
		return
	}
	command := exec.Command(checker, "replay", schedule)
	command.Env = userEnvironment(os.Environ())
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Logf("%s", output)
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		t.Fatalf("the schedule leads to a violation:\n%s", output)
	default:
		t.Fatalf("the schedule could not be replayed: %v\n%s", err, output)
	}
}

// userEnvironment is the environment in which the go command is the user's. The go command of a
// patched distribution puts itself first into the path of the tests that it runs. A patched
// distribution cannot be patched again.
func userEnvironment(environment []string) []string {
	environment = slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		root, ok := strings.CutPrefix(v, "GOROOT=")
		return ok && isPatched(root)
	})
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return isPatched(filepath.Dir(dir))
	})
	return append(environment, "PATH="+strings.Join(path, string(filepath.ListSeparator)))
}

// isPatched reports whether a directory is a Go distribution that the checker has patched.
func isPatched(root string) bool {
	_, err := os.Stat(filepath.Join(root, "src/runtime/tandem.go"))
	return err == nil
}
