package ckptd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// The benchmarks report the median, in milliseconds: single outliers of the machine's
// make the mean useless.

// samples collects durations.
type samples []time.Duration

// withConversation starts a group and connects to it.
func withConversation(b *testing.B, name, backend string) (*Client, *Group) {
	b.Helper()
	c := spawn(b, Options{MaxImages: 64, Backend: backend})
	group, address := merecat(), merecatAddress
	if name == "dropbear" {
		group, address = dropbear(b), dropbearAddress
	}
	g := start(b, c, group)
	talk := &conversation{t: b, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(b), 1, address); err != nil {
		b.Fatal(err)
	}
	talk.listen()
	// the first one has CRIU learn about the kernel
	if _, err := g.Checkpoint(testContext(b)); err != nil {
		b.Fatal(err)
	}
	return c, g
}

var benchmarked = []string{"dropbear", "merecat"}

// BenchmarkDump and BenchmarkRestore measure the daemon and its bare twin in turns. Under x
// is what the daemon takes, over what the bare command takes.

func BenchmarkDump(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			_, g := withConversation(b, name, BackendCRIU)
			c, other := withConversation(b, name, BackendCRIU)
			x := newBare(b, c, other)
			x.inTurns(func() error { _, err := g.Checkpoint(context.Background()); return err }, x.dump)
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			_, g := withConversation(b, name, BackendCRIU)
			image := savedGroup(b, g)
			c, other := withConversation(b, name, BackendCRIU)
			x := newBare(b, c, other)
			x.dump()
			kill(b, x.group.PID())
			x.inTurns(func() error { return g.Restore(context.Background(), image) }, x.restore)
		})
	}
}

func (x *bare) inTurns(own func() error, bare func() time.Duration) {
	var took, without samples
	for x.b.Loop() {
		begin := time.Now()
		if err := own(); err != nil {
			x.b.Fatal(err)
		}
		took = append(took, time.Since(begin))
		without = append(without, bare())
	}
	slices.Sort(took)
	slices.Sort(without)
	median, bareMedian := took[len(took)/2], without[len(without)/2]
	x.b.ReportMetric(float64(median.Microseconds())/1000, "ms/median")
	x.b.ReportMetric(float64(bareMedian.Microseconds())/1000, "ms/bare-median")
	x.b.ReportMetric(float64(median)/float64(bareMedian), "x")
	x.b.ReportMetric(0, "ns/op")
}

// The bare twins run the command criu by hand on the same group, in the same namespaces,
// with the same options: what remains is what the daemon adds. Only the command is timed,
// with nsenter, not the kill, the fresh network and the files that Restore also does.

// bare is a group of which CRIU's own command takes images.
type bare struct {
	b        *testing.B
	criu     string
	daemon   int    // host pid
	group    *Group // while it runs
	images   string // directory as the daemon sees it
	mounts   []string
	channel  string // socket of the proxy, as CRIU names it
	output   string // pipe of the peers
	innerPID string
}

func newBare(b *testing.B, c *Client, g *Group) *bare {
	b.Helper()
	criu, _, err := criu.Find()
	if err != nil {
		b.Fatal(err)
	}
	x := &bare{b: b, criu: criu, daemon: c.process.Process.Pid, group: g, images: paths.Base + "/bare"}
	run := fmt.Sprintf("%s/%d", paths.Groups, g.id)
	x.mounts = []string{"/dev", paths.Devices, "/run", run, "/root", run + "/tandem/root"}
	if g.processes[0].Name != "dropbear" {
		x.mounts = x.mounts[:4]
	}
	if err := os.MkdirAll(x.outside(x.images), 0o700); err != nil {
		b.Fatal(err)
	}
	x.channel, x.output = x.link(3), x.link(1)
	for line := range strings.Lines(string(testkit.ReadFile(b, fmt.Sprintf("/proc/%d/status", g.PID())))) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(rest)
			x.innerPID = fields[len(fields)-2] // the daemon's namespace is next to innermost
		}
	}
	return x
}

// outside is a path of the daemon as the test sees it.
func (x *bare) outside(path string) string { return fmt.Sprintf("/proc/%d/root%s", x.daemon, path) }

func (x *bare) link(fd int) string {
	l, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", x.group.PID(), fd))
	if err != nil {
		x.b.Fatal(err)
	}
	return l
}

// command runs criu in the daemon's namespaces and a network, and times it.
func (x *bare) command(network string, files []*os.File, arguments ...string) time.Duration {
	arguments = append([]string{"--target", strconv.Itoa(x.daemon), "--mount", "--pid", "--net=" + network,
		x.criu}, arguments...)
	arguments = append(arguments, "-D", x.images, "-v2", "--tcp-established", "--manage-cgroups=ignore",
		"--file-locks", "--network-lock", "skip")
	c := exec.Command("nsenter", arguments...)
	c.ExtraFiles = files
	begin := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(begin)
	if err != nil {
		log, _ := filepath.Glob(x.outside(x.images) + "/*.log")
		for _, l := range log {
			out = append(out, testkit.ReadFile(x.b, l)...)
		}
		x.b.Fatalf("criu %v: %v\n%s", arguments, err, out)
	}
	return took
}

func (x *bare) dump() time.Duration {
	inode := strings.TrimSuffix(strings.TrimPrefix(x.channel, "socket:["), "]")
	arguments := []string{"dump", "-t", x.innerPID, "-R", "-o", "dump.log", "--external",
		"unix[" + inode + "]"}
	for i := 0; i < len(x.mounts); i += 2 {
		arguments = append(arguments, "--external", fmt.Sprintf("mnt[%s]:m%d", x.mounts[i], i))
	}
	return x.command(fmt.Sprintf("/proc/%d/ns/net", x.group.PID()), nil, arguments...)
}

// restore restores in a fresh network and ends what it has restored.
func (x *bare) restore() time.Duration {
	network, err := netns.New()
	if err != nil {
		x.b.Fatal(err)
	}
	defer network.Close()
	channel, proxyEnd := testkit.SocketPair(x.b)
	defer unix.Shutdown(channel, unix.SHUT_RDWR)
	duplicate, err := unix.FcntlInt(uintptr(proxyEnd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		x.b.Fatal(err)
	}
	inherit := []*os.File{os.NewFile(uintptr(duplicate), "channel")}
	defer inherit[0].Close()
	r, w, err := os.Pipe()
	if err != nil {
		x.b.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	arguments := []string{"restore", "-d", "-o", "restore.log", "--root", paths.Root,
		"--inherit-fd", "fd[3]:" + x.channel, "--inherit-fd", "fd[4]:" + x.output}
	for i := 0; i < len(x.mounts); i += 2 {
		arguments = append(arguments, "--external", fmt.Sprintf("mnt[m%d]:%s", i, x.mounts[i+1]))
	}
	took := x.command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), network.Fd()), append(inherit, w),
		arguments...)
	testkit.Await(x.b, "the restored group has ended", func() bool {
		number, err := sys.Inode(int(network.Fd()))
		if err != nil {
			x.b.Fatal(err)
		}
		n, err := netns.Kill(number, 0)
		return err == nil && n == 0
	})
	return took
}
