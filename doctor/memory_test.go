package doctor

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// TestInMemory: what was forbidden is said with what helps. Root has no need of a user namespace.
func TestInMemory(t *testing.T) {
	forbidden := &userns.Forbidden{Why: "some.setting is 0", Advice: "have root set it", Err: unix.EPERM}
	for _, c := range []struct {
		err   error
		uid   int
		names string
		ok    bool
		fix   string
	}{
		{nil, 0, "checkpoint in memory", true, ""},
		{nil, 1000, "user namespaces, checkpoint in memory", true, ""},
		{errors.Join(errors.New("start it"), forbidden), 1000, "user namespaces", false, "have root set it"},
		{errors.New("it died"), 1000, "checkpoint in memory", false, "run as root"},
		{errors.New("it died"), 0, "checkpoint in memory", false, "run as root"},
	} {
		var names []string
		for _, f := range inMemory(c.err, c.uid) {
			names = append(names, f.Name)
			if f.OK != c.ok || !strings.HasPrefix(f.Fix, c.fix) || f.Detail == "" {
				t.Errorf("%v, user %d: %+v", c.err, c.uid, f)
			}
		}
		if got := strings.Join(names, ", "); got != c.names {
			t.Errorf("%v, user %d: %s", c.err, c.uid, got)
		}
	}
}

// TestMemoryOfThisMachine: a checkpoint is taken, unless something that it takes is not in order.
func TestMemoryOfThisMachine(t *testing.T) {
	o := built(t)
	found := []Finding{{Name: "CRIU"}, {Name: "/proc", OK: true}}
	if got := memory(t.Context(), o, found, 0); len(got) != 1 || !got[0].OK {
		t.Errorf("%+v", got)
	}
	o = ckptd.Options{Daemon: "/nonexistent/tandem-ckptd"}
	if got := memory(t.Context(), o, []Finding{{Name: "/proc"}}, 0); len(got) != 1 || got[0].OK ||
		got[0].Detail != "not tried: /proc is not in order" {
		t.Errorf("%+v", got)
	}
}
