package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
	"github.com/tandem-mc/tandem/proxy"
)

// What can be read of a process from outside is read here. Each refusal names what could not be
// made again, so that users know what to change, and all of it comes before anything is copied.

// Examine reads what there is to know from outside of a frozen process, but for its memory and its
// files. It refuses timers, directories and signals that could not be given to another process.
func (p *Frozen) Examine() error {
	buffer := make([]byte, ptrace.MaxXstate)
	for n, t := range p.threads {
		if err := t.examine(p.PID, buffer); err != nil {
			return err
		}
		if err := p.examineStatus(t, n == 0); err != nil {
			return err
		}
	}
	if timers, err := procfs.Read(fmt.Sprintf("/proc/%d/timers", p.PID)); err == nil && len(timers) > 0 {
		return incarnation.Refuse("process %d has POSIX timers (timer_create)", p.PID)
	}
	var err error
	if p.attributes.directory, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID)); err != nil {
		return err
	}
	// It could not be entered again.
	if strings.HasSuffix(p.attributes.directory, " (deleted)") {
		return incarnation.Refuse("the directory of process %d was deleted", p.PID)
	}
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", p.PID))
	if err != nil || root != "/" && path.Dir(root) != paths.Roots {
		return errors.Join(err, incarnation.Refuse("process %d has a root directory of its own, %s (chroot)",
			p.PID, root))
	}
	// A peer from an image keeps its root, as every fork does, and enters directories as it sees
	// them.
	below, ok := strings.CutPrefix(p.attributes.directory, strings.TrimSuffix(root, "/"))
	if !ok {
		return incarnation.Refuse("the directory of process %d is outside of its root directory", p.PID)
	}
	p.attributes.directory = cmp.Or(below, "/")
	return nil
}

// examineStatus reads what there is in /proc/PID/status of a thread, and refuses what a new process
// would not have. The threads of a process must agree, since a new one gets all from its maker.
func (p *Frozen) examineStatus(t *thread, first bool) error {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/task/%d/status", p.PID, t.tid))
	if err != nil {
		return err
	}
	lines := procfs.Status(text)
	t.name = lines.Field("Name:")
	t.inner = lines.Innermost("NSpid:")
	// The calls end with a trap, which a process that ignores it would not stop for.
	if trap, _ := strconv.ParseUint(lines.Field("SigIgn:"), 16, 64); trap&^tracer.BlockAll != 0 {
		return incarnation.Refuse("process %d ignores the signal SIGTRAP", p.PID)
	}
	if first {
		return p.examineFirst(t.inner, lines)
	}
	for _, field := range statusOfAll {
		if lines.Field(field) != p.status.Field(field) {
			return incarnation.Refuse("thread %d of process %d has a %s of its own", t.tid, p.PID,
				strings.TrimSuffix(field, ":"))
		}
	}
	return nil
}

// examineFirst examines what the status of the first thread says of the process. A peer leads its
// session; what a peer has forked is compared with its parent.
func (p *Frozen) examineFirst(inner int, lines procfs.Status) error {
	p.Inner, p.status = inner, lines
	if p.Parent != nil {
		var err error
		if p.descent, err = examineHeritage(p); err != nil {
			return err
		}
	} else if lines.Innermost("NSsid:") != inner || lines.Innermost("NSpgid:") != inner {
		return incarnation.Refuse("process %d is not the leader of its session", p.PID)
	}
	p.Tables = lines.Bytes("VmPTE:")
	if err := examineRights(p.PID, lines); err != nil {
		return err
	}
	return examineKinds(p.PID, lines)
}

// examineRights refuses a process that may not carry out the calls that a restore takes. It is
// refused at the checkpoint: at the restore it would be too late.
func examineRights(pid int, s procfs.Status) error {
	const admin = 1 << unix.CAP_SYS_ADMIN
	if effective, err := strconv.ParseUint(s.Field("CapEff:"), 16, 64); err != nil || effective&admin == 0 {
		return incarnation.Refuse("process %d has dropped the capability CAP_SYS_ADMIN", pid)
	}
	if s.Field("Seccomp:") != "0" && s.Field("Seccomp_filters:") != strconv.Itoa(proxy.Filters) {
		return incarnation.Refuse("process %d has its system calls filtered (seccomp)", pid)
	}
	return nil
}

// examineKinds refuses a process with memory of a kind that a fork does not carry over. They show
// here without the flags of mappings, which take long to read.
func examineKinds(pid int, s procfs.Status) error {
	for name, what := range map[string]string{"VmLck:": "is locked", "HugetlbPages:": "has huge pages"} {
		if s.Bytes(name) > 0 {
			return incarnation.Refuse("memory of process %d %s", pid, what)
		}
	}
	if strings.Contains(s.Field("x86_Thread_features:"), "shstk") {
		return incarnation.Refuse("memory of process %d is a shadow stack", pid)
	}
	return nil
}

// ExamineMemory reads the mappings of a frozen process and refuses those that a fork does not carry
// over as they are.
func (p *Frozen) ExamineMemory() (err error) {
	if p.Memory.sizes, err = pagemap.Sizes(p.PID); err != nil {
		return err
	}
	// Else memory is mapped anew by the restore, which takes the flags.
	if p.Parent == nil && len(p.Children) == 0 && p.Memory.Generation+1 < MaxGeneration {
		if err := p.examinePages(); !errors.Is(err, pagemap.ErrNoScan) {
			return err
		}
	}
	return p.Memory.readFlags(p.PID)
}

// examinePages reads mappings without their flags, which take the kernel long to list. Flags that
// matter show elsewhere: see examineKinds and checkInherited.
func (p *Frozen) examinePages() (err error) {
	if p.own, err = pagemap.OwnPages(p.PID, callsOf(p.calls)); err != nil {
		return err
	}
	if p.Memory.Private, err = pagemap.ExclusiveBytes(p.PID, p.own); err != nil {
		return err
	}
	return p.Memory.readMappings(p.PID, p.own)
}
