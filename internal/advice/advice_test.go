package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestIn: advice is found where a person finds it.
func TestIn(t *testing.T) {
	for message, want := range map[string]string{
		"--shrink x: give a number of executions, 1 to 9, or off": "give a number of " +
			"executions, 1 to 9, or off",
		"a.yaml is there already: --force replaces it, and --print prints": "--force replaces it, and " +
			"--print prints",
		"installing needs root: run `tandem doctor --fix` as root": "run `tandem doctor --fix` " +
			"as root",
		"no CRIU; `tandem doctor --fix`, as root, installs it": "`tandem doctor --fix`, as root, " +
			"installs it",
		"it has changed:\n  a\nPut it back, or check from the beginning": "Put it back, or check from " +
			"the beginning",
		"x: give main, or a path with /... at its end for all below": "give main, or a path with " +
			"/... at its end for all below",
		"leave these out:\n  a\n  b":                   "leave these out",
		"start the peers: no such file":                "",
		"check a: run 3 of 4: the worker died":         "",
		"it has its own clock; wait: it takes long":    "",
		"--time 0 is not allowed":                      "",
		"--csv and --svg name the same file":           "",
		"the check was interrupted":                    "",
		"127.0.0.1:80 was dialled: connection refused": "",
		"nobody is there: start it, or name another (nats: no servers)": "start it, or name another " +
			"(nats: no servers)",
		"it ends (a: b (c: d)): give a name":     "give a name",
		"smiles :( and: leave them out; or stop": "leave them out; or stop",
		"give":                                   "give",
		"":                                       "",
	} {
		if got := In(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestGeneral: every error has advice, of its own or a general one.
func TestGeneral(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("x: give another one"), ""},
		{errors.New("the proxy died"), "report it as a fault of Tandem"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, "check the name"},
		{fmt.Errorf("saving: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), "make room"},
		{fmt.Errorf("a: %w, b", syscall.EACCES), "run it as a user who may"},
	} {
		got := General(c.err)
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		if got != "" && In(got) == "" {
			t.Errorf("%q is no advice", got)
		}
	}
}
