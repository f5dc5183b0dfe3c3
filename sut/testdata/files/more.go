package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func descriptors() {
	f := must(os.Create("described"))
	fd := int(f.Fd())
	other, err := syscall.Dup(fd)
	show("dup", other > fd, err)
	syscall.Write(fd, []byte("one "))
	syscall.Write(other, []byte("two"))
	show("one offset", string(must(os.ReadFile("described"))))
	show("close one", syscall.Close(fd))
	_, err = syscall.Write(other, []byte(" three"))
	show("the other goes on", err, string(must(os.ReadFile("described"))))
	saved, err := syscall.Dup(1)
	show("save stdout", err)
	show("replace stdout", syscall.Dup3(other, 1, 0))
	fmt.Print(" printed")
	replaced := syscall.Dup3(saved, 1, 0)
	show("put it back", replaced, string(must(os.ReadFile("described"))))
	syscall.Close(saved)
	input, err := io.ReadAll(os.Stdin)
	show("stdin", string(input), err)
	show("close stdin", os.Stdin.Close())
	_, err = syscall.Read(0, make([]byte, 1))
	show("read it", err)
	flags, _, number := syscall.Syscall(syscall.SYS_FCNTL, uintptr(other), syscall.F_GETFL, 0)
	show("flags", flags&syscall.O_ACCMODE == syscall.O_RDWR, number)
	syscall.Close(other)
	again, err := os.OpenFile("described", os.O_RDWR|os.O_APPEND, 0)
	duplicate := os.NewFile(uintptr(must(syscall.Dup(int(again.Fd())))), "duplicate")
	again.Close()
	_, writeError := duplicate.WriteString(" appended")
	_, atError := duplicate.WriteAt([]byte("x"), 0)
	show("a file of a duplicate", err, writeError, atError != nil, string(must(os.ReadFile("described"))))
	duplicate.Close()
}

func working() {
	start := must(os.Getwd())
	show("chdir", os.Mkdir("there", 0o755), os.Chdir("there"))
	show("getwd", filepath.Base(must(os.Getwd())), filepath.Dir(must(os.Getwd())) == start)
	show("relative", os.WriteFile("here", []byte("!"), 0o600), string(must(os.ReadFile("../there/here"))))
	show("to nowhere", os.Chdir("missing"))
	show("back", os.Chdir(".."), must(os.Getwd()) == start)
	show("rename it", os.Rename("there", "then"), string(must(os.ReadFile("then/here"))))
	f := must(os.Open("then"))
	show("by descriptor", f.Chdir(), filepath.Base(must(os.Getwd())))
	show("remove where one is", os.RemoveAll("../then"))
	_, err := syscall.Getwd()
	show("then", err, os.WriteFile("x", nil, 0o600))
	show("home", os.Chdir(start))
	f.Close()
}

func temporary() {
	os.Setenv("TMPDIR", must(os.Getwd()))
	f, err := os.CreateTemp("", "t-*.txt")
	show("file", strings.HasSuffix(f.Name(), ".txt"), err, must(f.Stat()).Mode())
	dir, err := os.MkdirTemp("", "d-")
	show("directory", must(os.Stat(dir)).Mode(), err)
	other, err := os.MkdirTemp("", "d-")
	show("another", other != dir, err)
	show("remove", os.Remove(f.Name()), os.RemoveAll(dir), os.RemoveAll(other))
}

func locks() {
	a, b := must(os.Create("lock")), must(os.Open("lock"))
	lock := func(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how) }
	show("exclusive", lock(a, syscall.LOCK_EX))
	show("taken", lock(b, syscall.LOCK_SH|syscall.LOCK_NB))
	show("again", lock(a, syscall.LOCK_EX))
	show("shared instead", lock(a, syscall.LOCK_SH), lock(b, syscall.LOCK_SH))
	show("not alone", lock(a, syscall.LOCK_EX|syscall.LOCK_NB))
	show("alone", lock(b, syscall.LOCK_UN), lock(a, syscall.LOCK_EX|syscall.LOCK_NB))
	show("closing frees", a.Close(), lock(b, syscall.LOCK_EX|syscall.LOCK_NB))
	show("how", lock(b, 77))
	whole := syscall.Flock_t{Type: syscall.F_WRLCK}
	show("record", syscall.FcntlFlock(b.Fd(), syscall.F_GETLK, &whole), whole.Type == syscall.F_UNLCK)
	b.Close()
}

func devices() {
	show("null", os.WriteFile(os.DevNull, []byte("gone"), 0), len(must(os.ReadFile(os.DevNull))))
	zero := must(os.Open("/dev/zero"))
	b := []byte{1, 2, 3}
	n, err := zero.Read(b)
	show("zero", n, err, b)
	zero.Close()
	full := must(os.OpenFile("/dev/full", os.O_WRONLY, 0))
	_, err = full.Write(b)
	show("full", err)
	full.Close()
	random := must(os.Open("/dev/urandom"))
	n, err = io.ReadFull(random, make([]byte, 16))
	show("urandom", n, err)
	random.Close()
	show("mode", must(os.Stat(os.DevNull)).Mode())
	out := must(os.OpenFile("/dev/stdout", os.O_WRONLY|os.O_APPEND, 0))
	fmt.Fprintln(out, "through /dev/stdout")
	out.Close()
}

func roots() {
	os.MkdirAll("jail/in", 0o755)
	os.WriteFile("jail/in/file", []byte("inside"), 0o600)
	os.Symlink("../..", "jail/in/out")
	root := must(os.OpenRoot("jail"))
	b, err := root.ReadFile("in/file")
	show("inside", string(b), err)
	_, err = root.Open("in/out/target")
	show("outside", err != nil)
	show("changes", root.Mkdir("made", 0o700), root.Rename("in/file", "made/file"), root.Symlink("made", "soft"))
	matches, err := fs.Glob(root.FS(), "made/*")
	show("glob", matches, err)
	show("remove", root.RemoveAll("made"), root.Close())
}

func memory() {
	os.WriteFile("mapped", []byte("0123456789"), 0o600)
	f := must(os.Open("mapped"))
	m, err := syscall.Mmap(int(f.Fd()), 0, 10, syscall.PROT_READ, syscall.MAP_PRIVATE)
	show("mapped", string(m), err)
	show("unmapped", syscall.Munmap(m))
	show("not a file", func() error { _, err := syscall.Mmap(99, 0, 10, syscall.PROT_READ, syscall.MAP_PRIVATE); return err }())
	f.Close()
	mappedShared()
}

// mappedShared maps a file as databases do: for reading, further than its end, while they write to it.
func mappedShared() {
	f := must(os.OpenFile("shared", os.O_RDWR|os.O_CREATE, 0o600))
	must(f.WriteAt([]byte("0123456789"), 0))
	m, err := syscall.Mmap(int(f.Fd()), 0, 4*4096, syscall.PROT_READ, syscall.MAP_SHARED)
	show("shared", string(m[:12]), err)
	must(f.WriteAt([]byte("abc"), 8))
	show("written", string(m[:12]))
	show("larger", f.Truncate(3*4096), m[3*4096-1])
	must(f.WriteAt(bytes.Repeat([]byte("x"), 4096), 2*4096-2))
	show("across pages", string(m[2*4096-3:2*4096+1]), m[3*4096-3], m[3*4096-2])
	second, err := syscall.Mmap(int(f.Fd()), 4096, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	own, err2 := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	own[0] = '!'
	must(f.WriteAt([]byte("yz"), 4095))
	show("two", string(m[4095:4097]), string(second[:1]), string(m[:1]), err, err2)
	show("first unmapped", syscall.Munmap(m))
	must(f.WriteAt([]byte("again"), 4096))
	show("second", string(second[:5]), syscall.Madvise(second, syscall.MADV_DONTNEED), string(second[:5]))
	show("smaller", f.Truncate(4098), string(second[:3]))
	show("unmapped", syscall.Munmap(second), syscall.Munmap(own), f.Close())
}

func walk() {
	for _, name := range []string{"w/b/2", "w/a/1", "w/c"} {
		os.MkdirAll(filepath.Dir(name), 0o755)
		os.WriteFile(name, []byte(name), 0o600)
	}
	var seen []string
	err := filepath.WalkDir("w", func(path string, d fs.DirEntry, err error) error {
		seen = append(seen, path)
		return err
	})
	show("walk", seen, err)
	show("copy", os.CopyFS("w2", os.DirFS("w")), string(must(os.ReadFile("w2/b/2"))))
	exe, err := os.Executable()
	show("executable", filepath.IsAbs(exe), err)
	show("remove", os.RemoveAll("w"), os.RemoveAll("w"), list("w2"))
}
