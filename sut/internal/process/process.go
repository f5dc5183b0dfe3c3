// Package process has one process execute a program again and again, each time from the memory that
// it had just before main.main. It knows the commands and answers that go through the pipes, but
// not what the executions are about: that is in the shared memory, and the caller's.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/toolchain"
)

// Options of a process. They are the same for all its executions.
type Options struct {
	Args        []string
	Env         []string // NAME=VALUE, in addition to a fixed small environment
	Dir         string
	Stdin       []byte // empty: it is /dev/null
	Fork        bool   // every execution is a process of its own, and no snapshot is taken
	OwnCode     bool   // it is to execute a copy of its code, which no other process has
	HangTimeout time.Duration
	Environment *abi.SharedEnvironment
	Processor   *Processor
	Disk        []byte // that package initialisation is to find; nil: that of the machine
}

// backupBytes is how much memory a program can have before main.main.
const backupBytes = 512 << 20

// Process is a process of a program. Its methods must not be called concurrently, but for Kill.
type Process struct {
	Shared *abi.Shared // nil once it is closed

	program *toolchain.Program
	options Options
	command *exec.Cmd
	file    *os.File // of the memory, and of the disks behind it
	memory  []byte
	mapped  sync.Mutex // held while Shared is taken away, and while the watchdog looks at it
	pages   *pageTable
	pipes
	stdout *os.File
	stderr *os.File
	watchdog
}

// Start starts a process, which then has to be prepared. It gives the program its fixed
// surroundings, and stops it at main. The error is that of the kernel, such as a lack of memory;
// nothing is left then. Close frees what the process has.
func Start(program *toolchain.Program, o Options) (*Process, error) {
	p := &Process{program: program, options: o}
	var err error
	if p.file, err = memoryFile("tandem", int64(unsafe.Sizeof(abi.Shared{}))); err != nil {
		return nil, err
	}
	if err := p.mapMemory(p.file); err != nil {
		p.file.Close()
		return nil, err
	}
	p.stop = make(chan struct{})
	if err = p.SetDisk(o.Disk); err == nil {
		err = p.spawn(p.file)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	p.Arm()
	go p.watch(p.stop)
	return p, nil
}

// mapMemory maps the shared memory and writes what the process is to find there when it starts.
func (p *Process) mapMemory(memory *os.File) (err error) {
	const access = unix.PROT_READ | unix.PROT_WRITE
	p.memory, err = unix.Mmap(int(memory.Fd()), 0, int(unsafe.Sizeof(abi.Shared{})), access, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	p.Shared = (*abi.Shared)(unsafe.Pointer(&p.memory[0]))
	p.Shared.BackupBytes = backupBytes
	p.Shared.Places.Left.Output = 1 // package initialisation may, and does not say so
	p.Shared.Environment = *p.options.Environment
	if p.options.OwnCode {
		p.Shared.OwnCode = 1
	}
	return nil
}

// spawn starts the process, with its standard streams, the shared memory and both pipes. The
// process inherits the descriptors 3, 4 and 5, whose order the runtime knows.
func (p *Process) spawn(memory *os.File) error {
	stdin, err := standardInput(p.options.Stdin)
	if err != nil {
		return err
	}
	defer stdin.Close()
	if p.stdout, err = outputFile(); err != nil {
		return err
	}
	if p.stderr, err = outputFile(); err != nil {
		return err
	}
	in, out, err := p.open()
	if err != nil {
		return err
	}
	defer in.Close()
	defer out.Close()
	p.command = exec.Command(p.program.Path, p.options.Args...)
	// The name of the file differs from run to run.
	p.command.Args[0] = p.program.Name()
	p.command.Dir = p.options.Dir
	p.command.Env = p.environment()
	p.command.Stdin, p.command.Stdout, p.command.Stderr = stdin, p.stdout, p.stderr
	p.command.ExtraFiles = []*os.File{memory, in, out}
	p.command.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true, // a Ctrl-C is for the checker
	}
	if err := startOnThread(p.command, p.stop); err != nil {
		return err
	}
	p.options.Processor.claim(p.Pid())
	return nil
}

// environment is fixed, so that no execution depends on who started the checker. What the user
// wants to be there comes last, and so wins. The collector is off: it runs where the program asks
// for it.
func (p *Process) environment() []string {
	mode := "snapshot"
	if p.options.Fork {
		// As long as the other, so that what follows it in memory has the same address.
		mode = "forkeach"
	}
	fixed := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/nonexistent", "TZ=UTC", "LANG=C", "GOGC=off", "GOTRACEBACK=single",
		"TANDEM_WORKER=" + mode,
	}
	return slices.Concat(fixed, p.program.Environment(), p.options.Env)
}

// Pid is the process ID.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Kill ends the process at once. It may be called at any time, from any goroutine.
func (p *Process) Kill() { p.command.Process.Kill() }

// Close ends the process and frees what it holds. It may be called several times.
func (p *Process) Close() {
	if p.command != nil && p.command.Process != nil && p.command.ProcessState == nil {
		p.command.Process.Kill()
		p.command.Wait()
	}
	p.release()
}

// release frees what the checker holds of a process that has ended or was never started.
func (p *Process) release() {
	p.pipes.close()
	for _, f := range []*os.File{p.file, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
	p.file, p.stdout, p.stderr = nil, nil, nil
	if p.memory != nil {
		// The watchdog must not look at memory that is gone.
		p.mapped.Lock()
		unix.Munmap(p.memory)
		p.memory, p.Shared = nil, nil
		p.mapped.Unlock()
	}
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

// Prepare waits for the program to arrive at main, and has it copy its pages. The process is then
// ready for its first execution. With Options.Fork it only waits. The error is ErrGone if the
// program has ended before main.
func (p *Process) Prepare() error {
	defer p.Disarm()
	if err := p.Expect(abi.AnswerReady); err != nil || p.options.Fork {
		return err
	}
	p.pages = newPageTable(p.Pid(), p.Shared)
	if err := p.pages.snapshot(); err != nil {
		return p.orGone(err)
	}
	if err := p.Send(abi.CommandCopy); err != nil {
		return err
	}
	if err := p.Expect(abi.AnswerReady); err != nil {
		return err
	}
	p.Shared.Regions = 0
	return nil
}

// PutBackNewPages adds the pages that the last execution was the first to write to the region
// table, and has them put back, until that writes no others. It is called after each execution. The
// worker counts its page faults: without new ones it has written no new pages, and nothing is read.
// To put pages back may itself cause faults, hence the loop.
func (p *Process) PutBackNewPages() error {
	if p.options.Fork {
		return nil
	}
	for p.Shared.Faults != p.pages.faults {
		p.pages.faults = p.Shared.Faults
		added, err := p.pages.scan()
		if err != nil {
			return p.orGone(err)
		}
		if !added || p.Shared.Places.Resting != 0 { // then all is put back when the next one begins
			return nil
		}
		if err := p.Send(abi.CommandPutBack); err != nil {
			return err
		}
		if err := p.Expect(abi.AnswerEnd); err != nil {
			return err
		}
	}
	return nil
}

// Regions says how often the table of the pages that are put back has changed. Places that were
// kept before lack some pages.
func (p *Process) Regions() int {
	if p.pages == nil {
		return 0
	}
	return p.pages.changes
}

// orGone is the error, or that the process has ended, if that explains it. A process that ends
// takes its files in /proc with it, so other errors follow from that.
func (p *Process) orGone(err error) error {
	if p.ended() {
		return ErrGone
	}
	return err
}

// Explain adds what is known about the end of the process to an error: that the watchdog has ended
// it, and where, or how it ended by itself and what it wrote last. Other errors stay as they are.
func (p *Process) Explain(err error) error {
	if at := p.hung.Load(); at != nil {
		return fmt.Errorf("the program ran for %v without a visible operation (a long computation, or a "+
			"loop "+
			"that waits without synchronisation): it cannot be controlled there%v", p.options.HangTimeout,
			*at)
	}
	if !errors.Is(err, ErrGone) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EPIPE) {
		return err
	}
	p.command.Wait()
	out, _ := takeOutput(p.stderr)
	return fmt.Errorf("the worker process ended unexpectedly (%v)%s", p.command.ProcessState, abridged(out))
}
