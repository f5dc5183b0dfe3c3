package ckptd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestCRIUThatMisbehaves runs groups with scripts in place of CRIU.
func TestCRIUThatMisbehaves(t *testing.T) {
	version := "case $1 in --version) echo Version: 4.2.1; exit;; esac\n"
	for name, test := range map[string]struct{ script, want string }{
		"exits":        {version + "exit 3", "CRIU exited with status 3 during a dump: it wrote no log"},
		"kills itself": {version + "kill -KILL $$", "CRIU was killed by signal 9 (killed) during a dump"},
		"hangs": {version + "exec sleep 1000",
			"CRIU was stopped during a dump: context deadline exceeded"},
		"talks at once": {version + "printf '\\377\\377garbage' >&3; exec sleep 1000",
			"dump: response of CRIU: proto:"},
		"fails": {version +
			"echo '(00.1) Error (a.c:1): RLIMIT_NOFILE' >criu.log; echo '(00.2) Error (b.c:2): the real " +
			"one' >>criu.log;" +
			"echo '(00.3) Error (c.c:3): Dumping FAILED.' >>criu.log; exit 1",
			"during a dump: (00.2) Error (b.c:2): the real one"},
	} {
		t.Run(name, func(t *testing.T) {
			l := watchLeftovers(t)
			c := spawn(t, Options{CRIU: script(t, test.script)})
			g := start(t, c, merecat())
			ctx, cancel := context.WithTimeout(testContext(t), 5*time.Second)
			defer cancel()
			if name == "hangs" {
				// The daemon's limit comes first: the error is its own.
				_, err := c.call(ctx, wire.Request{Operation: wire.OpCheckpoint, Group: g.id,
					TimeoutMillis: 50}, nil)
				checkMisbehaviour(t, err, test.want)
			} else {
				_, err := g.Checkpoint(ctx)
				checkMisbehaviour(t, err, test.want)
			}
			l.note(t)
			testkit.Await(t, "only the daemon is left", func() bool { return len(l.note(t)) == 1 })
			start(t, c, merecat())
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			l.check(t)
		})
	}
}

func checkMisbehaviour(t *testing.T, err error, want string) {
	t.Helper()
	// Text of package proto has a space at random, against those who rely on it.
	if err == nil || !errors.Is(err, ErrGroupDown) ||
		!strings.Contains(strings.ReplaceAll(err.Error(), "\u00a0", " "), want) {
		t.Errorf("%v\nwant %q", err, want)
	}
}
