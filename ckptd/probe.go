package ckptd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Probe finds out what this machine lacks for running and checkpointing peers, down to a
// dump and a restore of an established TCP connection. It uses the CRIU in criuPath, or
// what FindCRIU finds where that is empty. It leaves nothing behind.
func Probe(ctx context.Context, criuPath string) []Finding {
	return probe(ctx, Options{CRIU: criuPath})
}

func probe(ctx context.Context, o Options) []Finding {
	findings := []Finding{probeKernel(), probeProc(), probeRoot(), probeCapabilities(), probePrograms(o),
		probeShim(ctx), probeQuiescence(), probeCRIU(&o)}
	return append(findings, findingOfFilter(tryFilter()), probeCheckpoint(ctx, o, findings))
}

// probeCheckpoint takes a checkpoint and goes back to it, where all that it takes was found.
func probeCheckpoint(ctx context.Context, o Options, found []Finding) Finding {
	test := Finding{Name: "checkpoint"}
	for _, f := range found {
		if !f.OK {
			test.Detail = "not tried: " + f.Name + " is not in order"
			test.Fix = "see " + f.Name
			return test
		}
	}
	if err := selfTest(ctx, o); err != nil {
		test.Detail = err.Error()
		test.Fix = "a container needs to be privileged; else see what CRIU says above and `criu check`"
		return test
	}
	test.OK, test.Detail = true, "a TCP connection in namespaces was dumped, restored and went on"
	return test
}

// tryFilter holds packets back in a network that nobody uses.
func tryFilter() error {
	network, err := netns.New()
	if err != nil {
		return err
	}
	defer network.Close()
	return netns.InFile(network, func() error {
		return errors.Join(criu.HoldPackets(),
			criu.ReleasePackets())
	})
}

func findingOfFilter(err error) Finding {
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

func probeKernel() Finding {
	f := Finding{Name: "Linux"}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		f.Detail, f.Fix = err.Error(), "run on Linux 5.10 or later"
		return f
	}
	f.Detail = unix.ByteSliceToString(u.Release[:])
	if f.OK = !criu.OlderThan(strings.TrimRight(releaseNumbers(f.Detail), "."), "5.10"); !f.OK {
		f.Fix = "run on Linux 5.10 or later"
	}
	return f
}

// releaseNumbers is the leading "6.18.44" of a release such as "6.18.44-cloud".
func releaseNumbers(release string) string {
	end := strings.IndexFunc(release, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		return release
	}
	return release[:end]
}

// probeProc looks for the files that tell whether peers are quiescent.
func probeProc() Finding {
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

// probeShim sees whether the shim of the peers is there or can be built.
func probeShim(ctx context.Context) Finding {
	shim, err := findShim(ctx)
	if err != nil {
		return Finding{Name: "shim of the peers", Detail: err.Error(),
			Fix: "install a C compiler and the headers of the C library (gcc, libc6-dev)"}
	}
	return Finding{Name: "shim of the peers", OK: true, Detail: shim.Library}
}

// probeQuiescence tells how quiescence is judged; either way will do.
func probeQuiescence() Finding {
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

func probeRoot() Finding {
	if uid := os.Geteuid(); uid != 0 {
		return Finding{Name: "root", Detail: fmt.Sprintf("this is user %d", uid), Fix: "run as root"}
	}
	return Finding{Name: "root", OK: true, Detail: "this is root"}
}

// neededCapabilities are what namespaces, mounts, ptrace and CRIU take.
var neededCapabilities = map[string]uint{
	"CAP_SYS_ADMIN":  unix.CAP_SYS_ADMIN,
	"CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE,
	"CAP_NET_ADMIN":  unix.CAP_NET_ADMIN,
	"CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT,
	"CAP_KILL":       unix.CAP_KILL,
	"CAP_CHOWN":      unix.CAP_CHOWN,
}

func probeCapabilities() Finding {
	f := Finding{Name: "capabilities"}
	effective, err := procfs.EffectiveCapabilities()
	if err != nil {
		f.Detail, f.Fix = err.Error(), "mount /proc"
		return f
	}
	var missing []string
	for name, bit := range neededCapabilities {
		if effective&(1<<bit) == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
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

func probePrograms(o Options) Finding {
	f := Finding{Name: "tandem-ckptd, tandem-proxy"}
	daemon, err := besideExecutable(o.Daemon, "tandem-ckptd")
	if err == nil {
		_, err = besideExecutable(o.Proxy, "tandem-proxy")
	}
	if err != nil {
		f.Detail, f.Fix = err.Error(), "run `make build`"
		return f
	}
	f.OK, f.Detail = true, "beside each other, as "+daemon
	return f
}

func probeCRIU(o *Options) Finding {
	f := Finding{Name: "CRIU"}
	var version string
	var err error
	if o.CRIU == "" {
		o.CRIU, version, err = criu.Find()
	} else {
		version, err = criu.Version(o.CRIU)
	}
	if err != nil {
		f.Detail, f.Fix = err.Error(), criu.InstallHint
		return f
	}
	f.OK, f.Detail = true, o.CRIU+" is version "+version
	return f
}

// selfTest checkpoints a connection that a proxy has with itself. "criu check" does not
// do: it approves of versions that cannot dump any TCP socket.
func selfTest(ctx context.Context, o Options) (err error) {
	c, err := Spawn(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g, err := c.launch(ctx, peers.Group{Peers: []peers.Peer{{Name: "sleep",
		Command: []string{"sleep", "infinity"}}}})
	if err != nil {
		return err
	}
	const listener, client, server = 1, 2, 3
	if err := connectToItself(ctx, g.Proxy(), listener, client, server); err != nil {
		return err
	}
	image, err := g.Checkpoint(ctx)
	if err != nil {
		return err
	}
	if err := g.Restore(ctx, image.ID); err != nil {
		return err
	}
	return exchangeByte(ctx, g.Proxy(), client, server)
}

// connectToItself makes a connection between the sockets client and server of a proxy.
func connectToItself(ctx context.Context, p *proxy.Client, listener, client, server proxy.ID) error {
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1024)
	for _, id := range []proxy.ID{listener, client} {
		fd, err := p.CreateSocket(ctx, id)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	if err := p.Bind(ctx, listener, address); err != nil {
		return err
	}
	if err := p.Connect(ctx, client, address); err != nil {
		return err
	}
	fd, _, err := p.Accept(ctx, listener, server)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// exchangeByte sends a byte from one socket of a proxy to another.
func exchangeByte(ctx context.Context, p *proxy.Client, from, to proxy.ID) error {
	sender, err := p.CreateSocket(ctx, from)
	if err != nil {
		return err
	}
	defer unix.Close(sender)
	receiver, err := p.CreateSocket(ctx, to)
	if err != nil {
		return err
	}
	defer unix.Close(receiver)
	if _, err := unix.Write(sender, []byte{'x'}); err != nil {
		return fmt.Errorf("send over the restored connection: %w", err)
	}
	const patience = 5000 // ms; it takes microseconds
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(receiver), Events: unix.POLLIN}}, patience); n != 1 {
		return fmt.Errorf("nothing arrives over the restored connection: %w",
			errors.Join(err, context.DeadlineExceeded))
	}
	b := make([]byte, 2)
	if n, err := unix.Read(receiver, b); err != nil || n != 1 || b[0] != 'x' {
		return fmt.Errorf("%q arrived over the restored connection, not \"x\": %w", b[:max(n, 0)], err)
	}
	return nil
}
