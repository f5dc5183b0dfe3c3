package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/toolchain"
)

// roleVariable has this test's own program play a worker: what it does is the value.
const roleVariable = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playWorker(role))
	}
	os.Exit(m.Run())
}

// playWorker answers commands as a worker does: it is ready, has copied its pages, has put them
// back. It ends with a status when it is told to, or when nobody is there any more.
func playWorker(role string) int {
	shared, commands, answers := os.NewFile(3, "shared"), os.NewFile(4, "commands"), os.NewFile(5, "answers")
	if role == "breaks" {
		fmt.Fprintln(os.Stderr, "panic: it breaks")
		return 7
	}
	if role == "speaks" {
		input := make([]byte, 100)
		n, _ := os.Stdin.ReadAt(input, 0) // every execution reads from the start
		fmt.Printf("%s|%s|%s|%s", strings.Join(os.Args, " "), input[:n], os.Getenv("GREETING"),
			os.Getenv("PATH"))
		fmt.Fprint(os.Stderr, "said")
	}
	size := int(unsafe.Sizeof(abi.Shared{}))
	memory, err := unix.Mmap(int(shared.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 8
	}
	s := (*abi.Shared)(unsafe.Pointer(&memory[0]))
	s.Backup = 1 << 40
	writeByte(answers, abi.AnswerReady)
	for {
		command, err := readByte(commands)
		switch {
		case err != nil:
			return 9
		case command == abi.CommandCopy:
			writeByte(answers, abi.AnswerReady)
		case command == abi.CommandPutBack:
			writeByte(answers, abi.AnswerEnd)
		case command == 'q':
			fmt.Fprintln(os.Stderr, "told to end")
			return 3
		default: // stands for an execution: a page is written, and the kernel counts a fault
			s.Faults++
			writeByte(answers, abi.AnswerEnd)
		}
	}
}

// sharedMemory is memory such as a worker shares, of which only what is used is ever there: to
// clear all of it would take seconds.
func sharedMemory(t *testing.T) *abi.Shared {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(abi.Shared{})), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(memory) })
	return (*abi.Shared)(unsafe.Pointer(&memory[0]))
}

// start starts this program as a worker.
func start(t *testing.T, role string, change func(*Options)) *Process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Env: []string{roleVariable + "=" + role}, Dir: t.TempDir(), HangTimeout: time.Hour,
		Environment: &abi.SharedEnvironment{}, Processor: &Processor{Number: 1},
	}
	if change != nil {
		change(&o)
	}
	p, err := Start(&toolchain.Program{Path: path, ImportPath: "example.com/client"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestLifeOfAProcess: it is prepared, executes as often as it is told, and the pages that it has
// written meanwhile are put back until there are no others.
func TestLifeOfAProcess(t *testing.T) {
	p := start(t, "works", nil)
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	if p.Shared.BackupBytes != backupBytes || len(p.pages.saved) == 0 {
		t.Errorf("%d bytes for copies, and %d pages", p.Shared.BackupBytes, len(p.pages.saved))
	}
	if err := p.PutBackNewPages(); err != nil || p.Shared.Regions != 0 {
		t.Errorf("without an execution: %d regions, %v", p.Shared.Regions, err)
	}
	for n := 1; n <= 3; n++ {
		if err := errors.Join(p.Send(abi.CommandRun), p.Expect(abi.AnswerEnd)); err != nil {
			t.Fatal(err)
		}
		if err := p.PutBackNewPages(); err != nil {
			t.Fatal(err)
		}
		if p.Shared.Regions == 0 || p.pages.faults != p.Shared.Faults || len(p.pages.written) == 0 {
			t.Errorf("after execution %d: %d regions, %d pages, faults %d of %d", n, p.Shared.Regions,
				len(p.pages.written), p.pages.faults, p.Shared.Faults)
		}
	}
	if p.armed.Load() != 0 {
		t.Error("a process that is prepared is still watched")
	}
}

// TestProcessesOfTheirOwn: where each execution is a process of its own, no pages are saved.
func TestProcessesOfTheirOwn(t *testing.T) {
	p := start(t, "works", func(o *Options) { o.Fork, o.OwnCode = true, true })
	if err := errors.Join(p.Prepare(), p.PutBackNewPages()); err != nil {
		t.Fatal(err)
	}
	if p.pages != nil || p.Shared.OwnCode != 1 {
		t.Errorf("pages %v, own code %d", p.pages, p.Shared.OwnCode)
	}
}

// TestSurroundings: a program has its name, arguments, input and environment, and none of the
// checker's; what it writes is taken once.
func TestSurroundings(t *testing.T) {
	t.Setenv("SECRET", "of the checker")
	p := start(t, "speaks", func(o *Options) {
		o.Args, o.Stdin = []string{"-n", "2"}, []byte("input")
		o.Env = append(o.Env, "GREETING=hello", "PATH=/own")
	})
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := p.TakeOutput()
	if want := "client -n 2|input|hello|/own"; err != nil || string(stdout) != want ||
		string(stderr) != "said" {
		t.Errorf("%q, %q, %v; want %q", stdout, stderr, err, want)
	}
	if stdout, stderr, err = p.TakeOutput(); len(stdout)+len(stderr) > 0 || err != nil {
		t.Errorf("again: %q, %q, %v", stdout, stderr, err)
	}
	for _, fork := range []bool{false, true} {
		p.options.Fork = fork
		env := p.environment()
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "SECRET=") }) ||
			!slices.Contains(env, "GOGC=off") || !slices.Contains(env, "TZ=UTC") {
			t.Errorf("%q", env)
		}
	}
	p.options.Fork = false
	snapshot := strings.Join(p.environment(), "\x00")
	p.options.Fork = true
	if forked := strings.Join(p.environment(), "\x00"); len(forked) != len(snapshot) || forked == snapshot {
		t.Errorf("the addresses of the stack would differ: %d and %d bytes", len(snapshot), len(forked))
	}
}

// TestEndsAreExplained: how a process has ended, and what it wrote last, is a part of the error.
func TestEndsAreExplained(t *testing.T) {
	for role, test := range map[string]struct {
		end  func(p *Process) error
		want []string
	}{
		"breaks": {func(p *Process) error { return p.Prepare() },
			[]string{"the worker process ended unexpectedly (exit status 7)", "panic: it breaks"}},
		"works": {func(p *Process) error {
			return errors.Join(p.Prepare(), p.Send('q'), p.Expect(abi.AnswerEnd))
		}, []string{"(exit status 3)", "told to end"}},
		"is killed": {func(p *Process) error {
			err := p.Prepare()
			p.Kill()
			return errors.Join(err, p.Expect(abi.AnswerEnd))
		}, []string{"(signal: killed)"}},
	} {
		t.Run(role, func(t *testing.T) {
			p := start(t, role, nil)
			err := test.end(p)
			if !errors.Is(err, ErrGone) {
				t.Fatalf("%v", err)
			}
			explained := p.Explain(ErrGone).Error()
			for _, want := range test.want {
				if !strings.Contains(explained, want) {
					t.Errorf("%q is missing in %q", want, explained)
				}
			}
			if other := errors.New("another error"); p.Explain(other) != other {
				t.Error("an error of another kind is changed")
			}
		})
	}
}

// TestHangsAreExplained: that the watchdog has ended a process counts more than how it ended.
func TestHangsAreExplained(t *testing.T) {
	p := &Process{options: Options{HangTimeout: 3 * time.Second}}
	at := toolchain.Position{Function: "main.f", File: "main.go", Line: 7}
	p.hung.Store(&hangPosition{own: at})
	const want = "the program ran for 3s without a visible operation (a long computation, or a loop that " +
		"waits without synchronisation): it cannot be controlled there\n\tat main.go:7, in main.f"
	if got := p.Explain(ErrGone).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNothingIsLeft: a process that is closed, or that could not be started, leaves no descriptor
// and no process; to close it again does nothing.
func TestNothingIsLeft(t *testing.T) {
	before := testkit.OpenFiles(t)
	p := start(t, "works", nil)
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	pid := p.Pid()
	p.Close()
	p.Close()
	if p.Shared != nil || p.openCall() != 0 {
		t.Error("its memory is still there")
	}
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("process %d: %v", pid, err)
	}
	program := &toolchain.Program{Path: filepath.Join(t.TempDir(), "none"), ImportPath: "x"}
	_, err := Start(program, Options{
		HangTimeout: time.Hour, Environment: &abi.SharedEnvironment{}, Processor: &Processor{},
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if now := testkit.OpenFiles(t); now != before {
		t.Errorf("%d descriptors are open, before there were %d", now, before)
	}
}

// TestLastCall: the call of the last operation is known from the memory, as long as that makes
// sense.
func TestLastCall(t *testing.T) {
	s := sharedMemory(t)
	p := &Process{Shared: s}
	s.Record[0].Open, s.Record[1].Open = 5, 7
	for records, want := range map[uint32]uint64{0: 0, 1: 5, 2: 7, abi.MaxRecords + 1: 0, 1 << 31: 0} {
		s.Records = records
		if got := p.openCall(); got != want {
			t.Errorf("after %d operations: %d, want %d", records, got, want)
		}
	}
}

// TestSameAddresses: each process that is started has its stack at the same place, and the thread
// that starts it keeps its own ways.
func TestSameAddresses(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	stack := func() string {
		var out strings.Builder
		cmd := exec.Command("/bin/sh", "-c", "grep stack /proc/self/maps | cut -d- -f2 | cut -d' ' -f1")
		cmd.Stdout = &out
		if err := startOnThread(cmd, stop); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first := stack()
	for range 3 {
		if again := stack(); again != first || first == "" {
			t.Errorf("the stack ends at %q, and before at %q", again, first)
		}
	}
	if err := startOnThread(exec.Command("/nowhere"), stop); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestSharedProcessor: a goroutine that shares the processor of a process is on that one, and then
// where it was; while it stays, sharing does nothing. Nor does it where the processor is not known.
func TestSharedProcessor(t *testing.T) {
	p := start(t, "works", nil)
	own := p.options.Processor
	now := func() (set unix.CPUSet) {
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	if !own.known { // a container may forbid it
		before := now()
		leave := own.Share()
		if now() != before {
			t.Error("a processor that is not known is shared")
		}
		leave()
		return
	}
	leave := own.Share()
	if now() != own.one {
		t.Error("it is on another processor")
	}
	leave()
	away := own.Stay()
	here := now()
	own.Share()() // has no effect
	if here != own.one || now() != here {
		t.Error("it has not stayed")
	}
	away()
	if own.stays {
		t.Error("it still stays")
	}
	var of unix.CPUSet
	if err := unix.SchedGetaffinity(p.Pid(), &of); err != nil || of != own.one {
		t.Errorf("the process is elsewhere: %v", err)
	}
}

// TestLeavesCrowd: a process whose processor others want moves to one that is idle, with the
// goroutine that stays with it. Its next turns are there.
func TestLeavesCrowd(t *testing.T) {
	p := start(t, "works", nil)
	own := p.options.Processor
	if !own.known || own.all.Count() < 2 {
		t.Skip("LEFT OUT: processes cannot move here, or there is one processor only")
	}
	other := 0
	for !own.all.IsSet(other) || own.one.IsSet(other) {
		other++
	}
	defer own.Stay()()
	own.crowding = crowding{machine: &crowded{idle: other}}
	where := func(id int) (set unix.CPUSet) {
		if err := unix.SchedGetaffinity(id, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	before := where(p.Pid())
	for !own.one.IsSet(other) { // three looks
		own.Share()()
	}
	if now := where(p.Pid()); now == before || now != own.one || where(0) != now {
		t.Errorf("the process runs on %v, the goroutine on %v", where(p.Pid()), where(0))
	}
}

// TestLeavesCrowdTogether: processes that stay together move together, whichever of them notices
// that others want their processor.
func TestLeavesCrowdTogether(t *testing.T) {
	var all []*Processor
	var pids []int
	for range 3 {
		p := start(t, "works", nil)
		all, pids = append(all, p.options.Processor), append(pids, p.Pid())
	}
	first, untied := all[0], &Processor{}
	if !first.known || first.all.Count() < 2 {
		t.Skip("LEFT OUT: processes cannot move here, or there is one processor only")
	}
	other := 0
	for !first.all.IsSet(other) || first.one.IsSet(other) {
		other++
	}
	defer StayTogether(append([]*Processor{untied}, all...))()
	all[1].crowding = crowding{machine: &crowded{idle: other}}
	for !all[1].one.IsSet(other) { // three looks
		all[1].Share()()
	}
	want := all[1].one
	for _, id := range append(pids, 0) { // the last one is the goroutine
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); err != nil || set != want {
			t.Errorf("process %d may run on %v, want %v, error %v", id, set, want, err)
		}
	}
	for i, p := range all {
		if p.one != want {
			t.Errorf("processor %d is %v, want %v", i, p.one, want)
		}
	}
	if untied.stays || untied.together != nil {
		t.Error("a process that cannot be tied takes part")
	}
	StayTogether([]*Processor{untied})()
}

// TestMemoryFiles: a file in memory has its size, and one for output is only appended to, also
// after it was emptied.
func TestMemoryFiles(t *testing.T) {
	f, err := memoryFile("x", 5000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 5000 {
		t.Errorf("%v, %v", info, err)
	}
	out, err := outputFile()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	long := strings.Repeat("x", abi.OutputBytes+abi.CrashOutputBytes+100)
	for _, text := range []string{"a", long} {
		if _, err := unix.Write(int(out.Fd()), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := takeOutput(out)
	if err != nil || len(taken) != abi.OutputBytes+abi.CrashOutputBytes || taken[0] != 'a' {
		t.Errorf("%d bytes are taken, %v", len(taken), err)
	}
	if _, err := unix.Write(int(out.Fd()), []byte("b")); err != nil {
		t.Fatal(err)
	}
	if taken, err = takeOutput(out); err != nil || string(taken) != "b" {
		t.Errorf("after it was emptied: %q, %v", taken, err)
	}
}
