package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"syscall"
)

// random does many operations on few names, so that they meet, and prints what
// came of each. Natively and under control it draws the same.
type random struct {
	*rand.Rand
	open []*os.File
}

func runRandom(seed uint64) {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 0))}
	for i := range 300 {
		fmt.Println(seed, i, r.operation())
	}
	for _, f := range r.open {
		f.Close()
	}
	fmt.Println("left:", tree("."))
}

// path is a name in one of few directories, sometimes through a link, with a
// slash or with dots.
func (r *random) path() string {
	parts := []string{"a", "b", "c", "d", "full", "link", "config", "one", "..", "."}
	path := parts[r.IntN(len(parts)-2)]
	for r.IntN(3) == 0 {
		path += "/" + parts[r.IntN(len(parts))]
	}
	if strings.HasPrefix(path, "..") || strings.Count(path, "..") > 1 || strings.Contains(path, "../..") {
		return "a" // stay below
	}
	if r.IntN(8) == 0 {
		path += "/"
	}
	return path
}

func (r *random) operation() string {
	p, q := r.path(), r.path()
	said := func(name string, values ...any) string {
		text := name + " " + p
		for _, v := range values {
			text += " " + fmt.Sprint(v)
		}
		return text
	}
	switch r.IntN(18) {
	case 0, 1:
		return said("mkdir", syscall.Mkdir(p, 0o755))
	case 2:
		return said("rmdir", syscall.Rmdir(p))
	case 3:
		return said("unlink", syscall.Unlink(p))
	case 4, 5:
		return said("rename", q, syscall.Rename(p, q))
	case 6:
		return said("link", q, syscall.Link(p, q))
	case 7:
		return said("symlink", q, syscall.Symlink(p, q))
	case 8, 9:
		return said("open", r.openFile(p))
	case 10, 11:
		return said("use", r.use())
	case 12:
		return said("truncate", syscall.Truncate(p, int64(r.IntN(9000))))
	case 13:
		var st syscall.Stat_t
		err := syscall.Lstat(p, &st)
		return said("lstat", err, fmt.Sprintf("%o", st.Mode), size(&st), st.Nlink, st.Uid)
	case 14:
		var st syscall.Stat_t
		err := syscall.Stat(p, &st)
		return said("stat", err, fmt.Sprintf("%o", st.Mode), size(&st), st.Nlink)
	case 15:
		return said("chmod", syscall.Chmod(p, uint32(0o600+r.IntN(0o200))))
	case 16:
		b, err := os.ReadFile(p)
		return said("read", len(b), sum(b), err != nil)
	}
	return said("list", list(p))
}

// size of a directory depends on the file system.
func size(st *syscall.Stat_t) int64 {
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return 0
	}
	return st.Size
}

func sum(b []byte) (n int) {
	for i, c := range b {
		n += (i + 1) * int(c)
	}
	return n
}

func (r *random) openFile(p string) string {
	flags := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR}[r.IntN(3)]
	for _, f := range []int{os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND, syscall.O_NOFOLLOW, syscall.O_DIRECTORY} {
		if r.IntN(4) == 0 || f == os.O_CREATE && r.IntN(2) == 0 {
			flags |= f
		}
	}
	if flags&os.O_CREATE != 0 {
		flags &^= syscall.O_DIRECTORY // what the two mean together has changed from kernel to kernel
	}
	fd, err := syscall.Open(p, flags|syscall.O_CLOEXEC, 0o640)
	if err != nil {
		return fmt.Sprintf("%o %v", flags, err)
	}
	r.open = append(r.open, os.NewFile(uintptr(fd), p))
	return fmt.Sprintf("%o is file %d", flags, len(r.open)-1)
}

// use does something with an open file.
func (r *random) use() string {
	if len(r.open) == 0 {
		return "none"
	}
	i := r.IntN(len(r.open))
	fd, b := int(r.open[i].Fd()), make([]byte, r.IntN(6000))
	for j := range b {
		b[j] = byte(i + j)
	}
	at := int64(r.IntN(20_000))
	var n any
	var err error
	var st syscall.Stat_t
	switch r.IntN(8) {
	case 0:
		n, err = syscall.Write(fd, b)
	case 1:
		n, err = syscall.Pwrite(fd, b, at)
	case 2:
		n, err = syscall.Read(fd, b)
		n = fmt.Sprint(n, sum(b))
	case 3:
		n, err = syscall.Pread(fd, b, at)
		n = fmt.Sprint(n, sum(b))
	case 4:
		whence := r.IntN(3)
		if syscall.Fstat(fd, &st); st.Mode&syscall.S_IFMT != syscall.S_IFDIR { // offsets in directories are the file system's own
			n, err = syscall.Seek(fd, at-5000, whence)
		}
	case 5:
		err = syscall.Ftruncate(fd, at)
	case 6:
		err = syscall.Fstat(fd, &st)
		n = fmt.Sprint(size(&st), st.Nlink, st.Mode)
	default:
		err = r.open[i].Close()
		r.open = append(r.open[:i], r.open[i+1:]...)
	}
	return fmt.Sprint(i, " ", n, " ", err)
}

// tree is all that there is.
func tree(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var text []string
	for _, e := range entries {
		path := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			text = append(text, path+"/", tree(path))
		case e.Type().IsRegular():
			b, _ := os.ReadFile(path)
			text = append(text, fmt.Sprint(path, "=", sum(b)))
		default:
			to, _ := os.Readlink(path)
			text = append(text, path+"->"+to)
		}
	}
	sort.Strings(text)
	return strings.Join(text, " ")
}
