package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers/watch"
)

// checkpoints finds out what this machine lacks for running and checkpointing peers, down to a dump
// and a restore of an established TCP connection. It leaves nothing behind.
func checkpoints(ctx context.Context, o ckptd.Options) []Finding {
	findings := []Finding{kernel(), procFiles(), user(), capabilities(), programs(o), shim(ctx), quiescence(),
		criu(&o), packetFilter(ckptd.TryPacketFilter())}
	return withoutPrivilege(append(findings, selfTest(ctx, o, findings)), os.Geteuid())
}

// withoutPrivilege has the right advice for somebody who is not root: privilege is what is lacking,
// and whether a kernel option or a program is lacking, too, can often be told only with it.
func withoutPrivilege(findings []Finding, uid int) []Finding {
	if uid == 0 {
		return findings
	}
	for i := range findings {
		switch f := &findings[i]; {
		case f.OK || f.Installable:
		case f.Name == "capabilities", f.Name == "packet filter", f.Name == "checkpoint":
			f.Fix = "run as root: without, nobody can tell more"
		}
	}
	return findings
}

// selfTest takes a checkpoint and goes back to it, where all that it takes was found.
func selfTest(ctx context.Context, o ckptd.Options, found []Finding) Finding {
	test := Finding{Name: "checkpoint"}
	for _, f := range found {
		if !f.OK {
			test.Detail = "not tried: " + f.Name + " is not in order"
			test.Fix = "see " + f.Name
			return test
		}
	}
	if err := ckptd.SelfTest(ctx, o); err != nil {
		test.Detail = err.Error()
		test.Fix = "a container needs to be privileged; else see what CRIU says above and `criu check`"
		return test
	}
	test.OK, test.Detail = true, "a TCP connection in namespaces was dumped, restored and went on"
	return test
}

// kernel looks at the release of Linux.
func kernel() Finding {
	f := Finding{Name: "Linux"}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		f.Detail, f.Fix = err.Error(), "run on Linux 5.10 or later"
		return f
	}
	f.Detail = unix.ByteSliceToString(u.Release[:])
	if f.OK = newEnough(f.Detail); !f.OK {
		f.Fix = "run on Linux 5.10 or later"
	}
	return f
}

// newEnough tells whether a release such as "6.18.44-cloud" is 5.10 or later.
func newEnough(release string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 10
}

// procFiles looks for the files that tell whether peers are quiescent.
func procFiles() Finding {
	f := Finding{Name: "/proc", OK: true, Detail: "children, schedstat and wchan of a thread are there"}
	directory := fmt.Sprintf("/proc/self/task/%d/", os.Getpid())
	for _, name := range []string{"children", "schedstat", "wchan"} {
		if _, err := os.ReadFile(directory + name); err != nil {
			f.OK, f.Detail = false, err.Error()
			f.Fix = "run a kernel with CONFIG_PROC_CHILDREN, CONFIG_SCHED_INFO and CONFIG_KALLSYMS"
		}
	}
	if f.OK && !tellsWaitChannel() {
		f.OK, f.Detail = false, "the wait channel of a thread that sleeps is not told"
		f.Fix = "run a kernel with CONFIG_KALLSYMS and CONFIG_STACKTRACE; without, nobody knows whether " +
			"peers are quiescent"
	}
	return f
}

// tellsWaitChannel tries whether /proc says what a thread sleeps in.
func tellsWaitChannel() bool {
	var pair [2]int
	if unix.Pipe2(pair[:], unix.O_CLOEXEC) != nil {
		return false
	}
	tid, ended := make(chan int), make(chan struct{})
	go func() {
		defer close(ended)
		_ = osthread.Run(func() error {
			tid <- unix.Gettid()
			_, err := unix.Read(pair[0], make([]byte, 1)) // until the other end is closed
			return err
		})
	}()
	defer func() {
		unix.Close(pair[1])
		<-ended
		unix.Close(pair[0])
	}()
	file := fmt.Sprintf("/proc/self/task/%d/wchan", <-tid)
	for range 1000 {
		if channel, err := os.ReadFile(file); err == nil && string(channel) != "0" {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// shim sees whether the shim of the peers is there or can be built.
func shim(ctx context.Context) Finding {
	library, err := ckptd.FindShim(ctx)
	if err != nil {
		return Finding{Name: "shim of the peers", Detail: err.Error(), Installable: true,
			Fix: "install a C compiler and the headers of the C library (gcc, libc6-dev)"}
	}
	return Finding{Name: "shim of the peers", OK: true, Detail: library}
}

// quiescence tells how quiescence is judged; either way will do.
func quiescence() Finding {
	f := Finding{Name: "quiescence", OK: true, Detail: watch.MethodEBPF + ": the kernel counts wake-ups"}
	wakeups, err := watch.OpenWakeups()
	if err == nil {
		err = wakeups.Close()
	}
	if err != nil {
		f.Detail = watch.MethodProcfs + ", since: " + err.Error()
	}
	return f
}

// user says whether this is root, without whom there are no namespaces and no checkpoints.
func user() Finding {
	if uid := os.Geteuid(); uid != 0 {
		return Finding{Name: "root", Detail: fmt.Sprintf("this is user %d", uid), Fix: "run as root"}
	}
	return Finding{Name: "root", OK: true, Detail: "this is root"}
}

// neededCapabilities are what namespaces, mounts, ptrace and CRIU take. CRIU sets clocks
// (SYS_TIME), and brings back connections (NET_RAW) and capabilities (SETPCAP).
var neededCapabilities = map[string]uint{
	"CAP_SYS_ADMIN":  unix.CAP_SYS_ADMIN,
	"CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE,
	"CAP_NET_ADMIN":  unix.CAP_NET_ADMIN,
	"CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT,
	"CAP_KILL":       unix.CAP_KILL,
	"CAP_CHOWN":      unix.CAP_CHOWN,
	"CAP_SYS_TIME":   unix.CAP_SYS_TIME,
	"CAP_NET_RAW":    unix.CAP_NET_RAW,
	"CAP_SETPCAP":    unix.CAP_SETPCAP,
}

// capabilities looks whether root has been left what it needs: in a container it may not have.
func capabilities() Finding {
	f := Finding{Name: "capabilities"}
	effective, err := procfs.EffectiveCapabilities()
	if err != nil {
		f.Detail, f.Fix = err.Error(), "mount /proc"
		return f
	}
	if missing := lacking(effective); len(missing) > 0 {
		f.Detail = "missing: " + strings.Join(missing, ", ")
		f.Fix = "run as root; a container needs to be privileged"
		return f
	}
	f.OK, f.Detail = true, "complete"
	if effective&(1<<unix.CAP_SYS_RESOURCE) == 0 {
		f.Detail = "no CAP_SYS_RESOURCE: CRIU can dump processes of root only, so peers must run as root"
	}
	return f
}

// lacking are the names of the capabilities that are needed and not in the set, sorted.
func lacking(effective uint64) (missing []string) {
	for _, name := range slices.Sorted(maps.Keys(neededCapabilities)) {
		if effective&(1<<neededCapabilities[name]) == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// programs looks for the programs that this one starts.
func programs(o ckptd.Options) Finding {
	f := Finding{Name: "tandem-ckptd, tandem-proxy"}
	daemon, err := ckptd.FindPrograms(o)
	if err != nil {
		f.Detail, f.Fix = err.Error(), "run `make build`"
		return f
	}
	f.OK, f.Detail = true, "beside each other, as "+daemon
	if filepath.Base(daemon) != ckptd.Program { // that of a build, or of a go install, which has all
		f.Detail = "both are in " + daemon
	}
	return f
}

// criu looks for a CRIU that is new enough, and has the tests that follow use it.
func criu(o *ckptd.Options) Finding {
	f := Finding{Name: "CRIU"}
	var version string
	var err error
	if o.CRIU, version, err = ckptd.FindCRIU(o.CRIU); err != nil {
		f.Detail, f.Fix, f.Installable = err.Error(), ckptd.InstallCRIU, true
		// Whatever is installed, that is the one which is used.
		if named := os.Getenv("TANDEM_CRIU"); named != "" {
			f.Fix, f.Installable = ckptd.NamedCRIU, false
		}
		return f
	}
	f.OK, f.Detail = true, o.CRIU+" is version "+version
	return f
}

// packetFilter puts into words whether packets can be held back.
func packetFilter(err error) Finding {
	if errors.Is(err, unix.EPERM) {
		return Finding{Name: "packet filter", Detail: err.Error(),
			Fix: "run as root; a container needs to be privileged"}
	}
	if err != nil {
		return Finding{
			Name: "packet filter",
			Detail: "without it CRIU cannot bring back peers that have closed their end of a connection: " +
				err.Error(),
			Fix: "run a kernel with CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET; where it is a module: " +
				"modprobe nf_tables",
		}
	}
	return Finding{Name: "packet filter", OK: true,
		Detail: "nf_tables holds packets back while CRIU brings connections back"}
}
