package process

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// memoryFile is a file without a name, in memory. It is freed when nobody has it open or mapped.
// The name is only shown in /proc.
func memoryFile(name string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// standardInput is a file with what the program is to read. Its offset does not
// matter: every execution reads from the start.
func standardInput(text []byte) (*os.File, error) {
	if len(text) == 0 {
		return os.Open(os.DevNull)
	}
	f, err := memoryFile("stdin", 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, fmt.Errorf("preparing standard input: %w", err)
	}
	return f, nil
}

// outputFile is a file that the program appends its output to. So what it writes goes to the end,
// also after the checker has emptied the file.
func outputFile() (*os.File, error) {
	f, err := memoryFile("output", 0)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, unix.O_APPEND); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// TakeOutput returns what the program has written since the last call, and forgets it. The process
// must not execute meanwhile. Most executions print nothing, and say so: then nothing is looked at.
// Where the runtime has died the process may have printed without a word.
func (p *Process) TakeOutput() (stdout, stderr []byte, err error) {
	if p.Shared.Places.Left.Output == 0 && p.Shared.Outcome != abi.OutcomeFatal {
		return nil, nil, nil
	}
	p.Shared.Places.Left.Output = 0
	if stdout, err = takeOutput(p.stdout); err != nil {
		return nil, nil, err
	}
	stderr, err = takeOutput(p.stderr)
	return stdout, stderr, err
}

// takeOutput reads and empties a file. The program bounds what it writes; should it write more, the
// rest is dropped here.
func takeOutput(f *os.File) ([]byte, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil || info.Size == 0 {
		return nil, err
	}
	b := make([]byte, min(info.Size, abi.OutputBytes+abi.CrashOutputBytes))
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	return b, f.Truncate(0)
}

// abridged formats an output: its first bytes, which say what happened, and its last,
// which say where.
func abridged(out []byte) string {
	const first, last = 600, 1600
	if len(out) == 0 {
		return ""
	}
	if len(out) <= first+last {
		return ": " + string(out)
	}
	return ": " + string(out[:first]) + "\n...\n" + string(out[len(out)-last:])
}

// The disks that go to the process, and come from it, lie in the file of the shared memory, behind
// that.

// SetDisk has the executions from now on find a disk; nil: that of the machine. What is written
// last is the length, so no execution finds a part of it.
func (p *Process) SetDisk(disk []byte) error {
	if _, err := p.file.WriteAt(disk, abi.DiskFound+8); err != nil {
		return err
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(disk)))
	_, err := p.file.WriteAt(length, abi.DiskFound)
	return err
}

// TakeDisk is the disk that the last execution has left by a crash, of at most so many bytes. The
// process may have written anything there, if its memory was damaged.
func (p *Process) TakeDisk(most uint64) ([]byte, error) {
	var length [8]byte
	if _, err := p.file.ReadAt(length[:], abi.DiskLeft); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > most {
		return nil, fmt.Errorf("the disk has %d bytes of at most %d", n, most)
	}
	disk := make([]byte, n)
	_, err := p.file.ReadAt(disk, abi.DiskLeft+8)
	return disk, err
}
