package openfiles

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys"
)

// Bytes in a pipe cannot be looked at without taking them out, nor can a pipe be locked against its
// writers. So pipes of a quiescent group are empty, or the group is refused. An empty pipe has no
// state but the flags of its ends.

// describePipe knows the outputs of the group, and empty pipes among the peers. What is in a pipe
// cannot be read without taking it out, so a pipe that holds bytes is refused. An output of the
// group goes to the checker, before and after a restore: the process gets an end of the same pipe.
// Of others a new pipe is made, of which the peers must have had both ends: see checkPipes.
func describePipe(outputs []*os.File, d *Descriptor, f openFile) error {
	for _, output := range outputs {
		number, err := sys.Inode(int(output.Fd()))
		if err != nil {
			return err
		}
		if f.link != fmt.Sprintf("pipe:[%d]", number) {
			continue
		}
		if d.flags&unix.O_ACCMODE != unix.O_WRONLY {
			return incarnation.Refuse("descriptor %d of process %d reads the output of the group", f.number,
				f.pid)
		}
		d.make, err = f.makeOutput(int(output.Fd()))
		return err
	}
	n, err := f.unread()
	if err != nil {
		return err
	}
	if n > 0 {
		return incarnation.Refuse("descriptor %d of process %d, %s, holds %d bytes", f.number, f.pid, f.link,
			n)
	}
	end := 0
	if d.flags&unix.O_ACCMODE == unix.O_WRONLY {
		end = 1
	}
	d.pipe = f.link
	d.make = func(of *Making) (int, error) { return of.pipeEnd(f.link, end, f.flags) }
	return nil
}

// makeOutput makes a description of a pipe of which the daemon has an end: that of the daemon, or
// one that a peer has opened, such as /dev/stdout, whose flags are its own. To open it blocks where
// nobody reads, so it is opened without, and its own flags are set then.
func (f openFile) makeOutput(output int) (opener, error) {
	const settable = unix.O_NONBLOCK | unix.O_DIRECT | unix.O_APPEND
	n, err := f.findTwin([]openFile{{pid: os.Getpid(), number: output, link: f.link}})
	if err != nil {
		return nil, err
	}
	if n < 0 {
		path := fmt.Sprintf("/proc/self/fd/%d", output)
		return func(*Making) (int, error) {
			// Not blocking: whoever reads it may have ended.
			fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
			if err != nil {
				return -1, &fs.PathError{Op: "open", Path: path, Err: err}
			}
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, f.flags&settable)
			return fd, err
		}, nil
	}
	return func(*Making) (int, error) { // which may have other flags by now
		if _, err := unix.FcntlInt(uintptr(output), unix.F_SETFL, f.flags&settable); err != nil {
			return -1, err
		}
		return unix.FcntlInt(uintptr(output), unix.F_DUPFD_CLOEXEC, 0)
	}, nil
}

// checkPipes refuses a pipe of which somebody else may have an end. It would be cut off from that
// pipe by the restore. An end counts once, however many descriptors of it there are: twins of one
// process, and those that a fork has inherited, are of one description.
func checkPipes(all []surveyed) error {
	ends := map[string][3]int{}
	for _, p := range all {
		for _, d := range p.descriptors {
			if d.pipe != "" && d.Twin < 0 && !d.inherited {
				count := ends[d.pipe]
				count[d.flags&unix.O_ACCMODE]++
				ends[d.pipe] = count
			}
		}
	}
	for link, count := range ends {
		if count != [3]int{1, 1, 0} {
			return incarnation.Refuse("the peers have not both ends of %s, once each", link)
		}
	}
	return nil
}

// pipeEnd makes the pipe at the first of its two ends. The daemon keeps both ends until all
// processes have theirs. Flags of the ends are set as they were.
func (of *Making) pipeEnd(key string, end, flags int) (int, error) {
	ends, ok := of.pipes[key]
	if !ok {
		var pair [2]int
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
			return -1, err
		}
		of.CloseLater(pair[0], pair[1])
		ends = pair
		of.pipes[key] = ends
	}
	if _, err := unix.FcntlInt(uintptr(ends[end]), unix.F_SETFL,
		flags&(unix.O_NONBLOCK|unix.O_DIRECT)); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(ends[end]), unix.F_DUPFD_CLOEXEC, 0)
}
