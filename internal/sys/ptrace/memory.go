//go:build amd64

package ptrace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ReadMemory copies all pieces from a stopped process.
func ReadMemory(pid int, pieces ...Piece) error {
	return copyMemory(pid, pieces, unix.ProcessVMReadv, "read")
}

// WriteMemory copies all pieces to a stopped process.
func WriteMemory(pid int, pieces ...Piece) error {
	return copyMemory(pid, pieces, unix.ProcessVMWritev, "write")
}

// copyMemory makes one system call, whatever the number of pieces. It is all or an error: the
// kernel may have copied the first ones then.
func copyMemory(pid int, pieces []Piece, transfer transferCall, verb string) error {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	total := 0
	for _, p := range pieces {
		if len(p.Content) > 0 {
			local = append(local, unix.Iovec{Base: &p.Content[0], Len: uint64(len(p.Content))})
			remote = append(remote, unix.RemoteIovec{Base: uintptr(p.Address), Len: len(p.Content)})
			total += len(p.Content)
		}
	}
	if total == 0 {
		return nil
	}
	n, err := transfer(pid, local, remote, 0)
	if err == nil && n != total {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("%s %d bytes at %#x of process %d: %w", verb, total, remote[0].Base, pid, err)
	}
	return nil
}

// Piece is a piece of the memory of another process, with what it holds or is to hold.
type Piece struct {
	Address uint64
	Content []byte
}

// transferCall is process_vm_readv(2) or process_vm_writev(2).
type transferCall func(pid int, local []unix.Iovec, remote []unix.RemoteIovec, flags uint) (int, error)
