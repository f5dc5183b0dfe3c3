// Command files observes the file system in many ways, and prints a line for
// each. It runs in a directory with a file config, 600 bytes, a directory full with
// two files, and a symbolic link to it; natively it leaves much behind.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		seed, _ := strconv.ParseUint(os.Args[1], 10, 64)
		runRandom(seed)
		return
	}
	for _, group := range []struct {
		name string
		run  func()
	}{
		{"reading", reading}, {"writing", writing}, {"offsets", offsets}, {"copying up", copyingUp}, {"names", names},
		{"directories", directories}, {"links", links}, {"attributes", attributes}, {"errors", mistakes},
		{"descriptors", descriptors}, {"working directory", working}, {"temporary", temporary}, {"locks", locks},
		{"devices", devices}, {"roots", roots}, {"memory", memory}, {"walk", walk},
	} {
		fmt.Println("#", group.name)
		group.run()
	}
}

// show prints values; errors without the names of temporary files in them.
func show(what string, values ...any) {
	for i, v := range values {
		if e, ok := v.(error); ok {
			var number syscall.Errno
			if errors.As(e, &number) {
				values[i] = number.Error()
			}
		}
	}
	fmt.Println(append([]any{what + ":"}, values...)...)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func reading() {
	b, err := os.ReadFile("config")
	show("config", len(b), string(b[:10]), err)
	_, err = os.ReadFile("missing")
	show("missing", err, errors.Is(err, fs.ErrNotExist))
	_, err = os.ReadFile("full")
	show("a directory as a file", err)
	_, err = os.ReadFile("config/below")
	show("below a file", err)
	_, err = os.ReadFile("full/../link/one")
	show("through a link", err)
	info, err := os.Stat("config")
	show("status", info.Size(), info.Mode(), info.IsDir(), err)
	f := must(os.Open("config"))
	_, err = f.Write([]byte("x"))
	show("writing to a file opened for reading", err)
	at, err := f.Seek(-5, io.SeekEnd)
	rest, _ := io.ReadAll(f)
	show("the last five", at, len(rest), err)
	n, err := f.ReadAt(make([]byte, 10), 595)
	show("reading across the end", n, err)
	_, err = f.ReadAt(make([]byte, 10), -1)
	show("reading before the start", err != nil)
	show("closing", f.Close(), f.Close() != nil)
	_, err = f.Read(make([]byte, 1))
	show("reading when closed", errors.Is(err, os.ErrClosed))
}

func writing() {
	show("new file", os.WriteFile("new", []byte("hello"), 0o640))
	b, err := os.ReadFile("new")
	show("reads back", string(b), err)
	info := must(os.Stat("new"))
	show("its mode", info.Mode(), info.Size())
	f := must(os.OpenFile("new", os.O_APPEND|os.O_WRONLY, 0))
	n, err := f.WriteString(", world")
	show("append", n, err)
	_, err = f.WriteAt([]byte("x"), 0)
	show("appending at an offset", err != nil)
	_, err = f.Read(make([]byte, 1))
	show("reading a file opened for writing", err)
	show("sync", f.Sync(), f.Close())
	show("after appending", string(must(os.ReadFile("new"))))
	_, err = os.OpenFile("new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	show("exclusive", err, errors.Is(err, fs.ErrExist))
	show("truncate", os.Truncate("new", 3), string(must(os.ReadFile("new"))))
	show("extend", os.Truncate("new", 6), must(os.ReadFile("new")))
	show("shorter again", os.WriteFile("new", []byte("a"), 0o600), string(must(os.ReadFile("new"))), must(os.Stat("new")).Mode())
	big := bytes.Repeat([]byte("0123456789"), 10_000)
	show("a large file", os.WriteFile("big", big, 0o600), bytes.Equal(must(os.ReadFile("big")), big), must(os.Stat("big")).Size())
	r, w := must(os.Open("big")), must(os.Create("copy"))
	copied, err := io.Copy(w, r)
	show("copy", copied, err, bytes.Equal(must(os.ReadFile("copy")), big))
	r.Close()
	w.Close()
}

func offsets() {
	f := must(os.Create("sparse"))
	at, err := f.Seek(10_000, io.SeekStart)
	n, writeError := f.Write([]byte("end"))
	show("past the end", at, n, err, writeError)
	b := must(os.ReadFile("sparse"))
	show("the hole", len(b), bytes.Count(b, []byte{0}))
	n, err = f.WriteAt([]byte("middle"), 5_000)
	show("at an offset", n, err)
	at, err = f.Seek(0, io.SeekCurrent)
	show("the offset stays", at, err)
	_, err = f.Seek(-1, io.SeekStart)
	show("before the start", err)
	at, err = f.Seek(0, io.SeekEnd)
	show("the end", at, err)
	g := must(os.OpenFile("sparse", os.O_RDWR, 0))
	g.WriteAt([]byte("X"), 0)
	one := make([]byte, 1)
	f.ReadAt(one, 0)
	show("two descriptions of one file", string(one))
	show("truncate what is open", g.Truncate(4), must(f.Seek(0, io.SeekEnd)))
	n, err = f.ReadAt(make([]byte, 4), 2)
	show("after that", n, err)
	f.Close()
	g.Close()
}

func copyingUp() {
	before := must(os.Open("config"))
	f := must(os.OpenFile("config", os.O_RDWR, 0))
	n, err := f.WriteAt([]byte("CHANGED"), 100)
	show("a file of the machine", n, err, must(f.Stat()).Size())
	b := make([]byte, 9)
	before.ReadAt(b, 99)
	show("seen by who had it open", string(b))
	show("the rest is as it was", string(must(os.ReadFile("config"))[:10]))
	show("cut", os.Truncate("config", 50), len(must(os.ReadFile("config"))))
	before.Close()
	f.Close()
	show("removed", os.Remove("config"))
	_, err = os.Stat("config")
	show("gone", err)
	show("written anew", os.WriteFile("config", []byte("new"), 0o600), string(must(os.ReadFile("config"))))
}

func names() {
	os.WriteFile("a", []byte("a"), 0o600)
	os.WriteFile("b", []byte("b"), 0o600)
	show("rename over a file", os.Rename("a", "b"), string(must(os.ReadFile("b"))))
	show("rename what is missing", os.Rename("a", "c"))
	show("rename to nowhere", os.Rename("b", "nowhere/b"))
	show("rename a file of the machine", os.Rename("full/one", "one"), string(must(os.ReadFile("one"))))
	_, err := os.Stat("full/one")
	show("it is gone there", err)
	f := must(os.Open("b"))
	show("remove what is open", os.Remove("b"))
	rest, err := io.ReadAll(f)
	show("it can still be read", string(rest), err, must(f.Stat()).Sys().(*syscall.Stat_t).Nlink)
	f.Close()
	show("remove what is missing", os.Remove("b"))
	show("a long name", os.WriteFile(strings.Repeat("n", 256), nil, 0o600))
	show("a long path", os.WriteFile(strings.Repeat("n/", 2100), nil, 0o600))
	show("an empty name", os.WriteFile("", nil, 0o600))
	show("a trailing slash", os.WriteFile("file/", nil, 0o600))
}

func list(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var text []string
	for _, e := range entries {
		text = append(text, e.Name()+"|"+e.Type().String())
	}
	return strings.Join(text, " ")
}

func directories() {
	show("mkdir", os.Mkdir("dir", 0o750), must(os.Stat("dir")).Mode())
	show("again", os.Mkdir("dir", 0o750))
	show("below nothing", os.Mkdir("no/dir", 0o750))
	show("all of a path", os.MkdirAll("dir/x/y/z", 0o755), os.WriteFile("dir/x/f", nil, 0o600))
	show("list", list("dir/x"))
	show("remove a full one", os.Remove("dir/x"))
	show("as a file", syscall.Unlink("dir/x"))
	show("a file as a directory", syscall.Rmdir("dir/x/f"))
	show("move", os.Rename("dir/x", "moved"), list("moved"), list("dir"))
	show("into itself", syscall.Rename("moved", "moved/y/w"))
	show("a file over a directory", syscall.Rename("moved/f", "dir"))
	show("over a file", syscall.Rename("dir", "moved/f"))
	show("over a full one", syscall.Rename("dir", "moved"))
	show("over one above", syscall.Rename("moved/y/z", "moved"))
	show("over an empty one", syscall.Rename("moved", "dir"), list("dir"))
	show("of the machine", list("full"))
	os.WriteFile("full/three", nil, 0o600)
	os.Remove("full/two")
	show("of the machine, changed", list("full"))
	show("moved, of the machine", os.Rename("full", "fuller"), list("fuller"), list("link"))
	show("remove all", os.RemoveAll("fuller"), list("fuller"))
	show("remove the root", os.Remove("/"))
	show("remove here", syscall.Rmdir("."))
	f := must(os.Open("dir"))
	_, err := f.Read(make([]byte, 1))
	show("reading it", err)
	some, err := f.Readdirnames(1)
	show("one name", len(some), err)
	more, err := f.Readdirnames(10)
	show("the others", len(more), err)
	_, err = f.Readdirnames(1)
	show("the end", err)
	f.Seek(0, io.SeekStart)
	all, err := f.Readdirnames(-1)
	show("from the start", len(all), err)
	f.Close()
	_, err = os.OpenFile("dir", os.O_WRONLY, 0)
	show("opening it for writing", err)
	show("links of directories", must(os.Stat("dir")).Sys().(*syscall.Stat_t).Nlink >= 1)
}

func links() {
	os.WriteFile("target", []byte("t"), 0o600)
	show("symlink", os.Symlink("target", "soft"), string(must(os.ReadFile("soft"))))
	to, err := os.Readlink("soft")
	show("readlink", to, err)
	_, err = os.Readlink("target")
	show("readlink of a file", err)
	show("modes", must(os.Lstat("soft")).Mode(), must(os.Stat("soft")).Mode(), must(os.Lstat("soft")).Size())
	show("link", os.Link("target", "hard"), must(os.Stat("target")).Sys().(*syscall.Stat_t).Nlink)
	show("the same", os.SameFile(must(os.Stat("target")), must(os.Stat("hard"))), os.SameFile(must(os.Stat("target")), must(os.Stat("config"))))
	os.WriteFile("hard", []byte("both"), 0)
	show("content of the other", string(must(os.ReadFile("target"))))
	show("link again", os.Link("target", "hard"))
	show("link a directory", os.Link("dir", "hard2"))
	show("loop", os.Symlink("loop", "loop"))
	_, err = os.ReadFile("loop")
	show("follow the loop", err)
	os.Symlink("nowhere", "dangling")
	_, err = os.ReadFile("dangling")
	show("dangling", err)
	show("create through it", os.WriteFile("dangling", []byte("made"), 0o600), string(must(os.ReadFile("nowhere"))))
	_, err = os.OpenFile("soft", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	show("exclusively through a link", err)
	_, err = os.OpenFile("soft", syscall.O_NOFOLLOW, 0)
	show("not followed", err)
	os.Symlink("dir", "softdir")
	show("a directory through a link", list("softdir/"), list("softdir/."))
	resolved, err := filepath.EvalSymlinks("softdir/../soft")
	show("resolved", resolved, err)
	show("remove a link", os.Remove("softdir"), must(os.Stat("dir")).IsDir())
	show("mkdir at a dangling link", os.Symlink("elsewhere", "away"), syscall.Mkdir("away/", 0o700), syscall.Mkdir("away", 0o700))
	show("mkdir at a file", syscall.Mkdir("target/", 0o700), syscall.Mkdir("dir/.", 0o700))
	show("unlink with a slash", syscall.Unlink("away/"), syscall.Rmdir("away/"), syscall.Unlink("target/"))
	show("rename with a slash", syscall.Rename("away/", "x"), syscall.Rename("target", "x/"), syscall.Rename("target/", "x"))
	show("absolute", os.Symlink(must(filepath.Abs("target")), "absolute"), string(must(os.ReadFile("absolute"))))
}

func attributes() {
	os.WriteFile("attr", []byte("a"), 0o666)
	show("umask", must(os.Stat("attr")).Mode())
	show("chmod", os.Chmod("attr", 0o4711), must(os.Stat("attr")).Mode())
	show("chmod of what is missing", os.Chmod("missing", 0o700))
	then := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	show("times", os.Chtimes("attr", then, then), must(os.Stat("attr")).ModTime().UTC())
	before := must(os.Stat("attr")).ModTime()
	os.WriteFile("attr", []byte("b"), 0)
	show("writing sets it", must(os.Stat("attr")).ModTime().After(before))
	age := time.Since(must(os.Stat("attr")).ModTime())
	show("to now", age >= -time.Second && age < time.Minute)
	old := syscall.Umask(0o077)
	os.WriteFile("private", nil, 0o666)
	show("another umask", fmt.Sprintf("%o", syscall.Umask(old)), must(os.Stat("private")).Mode())
	if os.Getuid() == 0 {
		show("chown", os.Chown("attr", 12, 34))
		st := must(os.Stat("attr")).Sys().(*syscall.Stat_t)
		show("owner", st.Uid, st.Gid, must(os.Stat("attr")).Mode())
	}
	show("access", syscall.Access("attr", 4), syscall.Access("missing", 0))
	f := must(os.Create("byfd"))
	show("by descriptor", f.Chmod(0o400), must(f.Stat()).Mode())
	f.Close()
	var st syscall.Statfs_t
	show("file system", syscall.Statfs(".", &st), st.Bavail > 0, st.Bsize > 0)
}

func mistakes() {
	_, err := syscall.Read(99, make([]byte, 1))
	show("read", err)
	_, err = syscall.Write(99, make([]byte, 1))
	show("write", err)
	show("close", syscall.Close(99))
	show("fstat", syscall.Fstat(99, new(syscall.Stat_t)))
	_, err = syscall.Seek(99, 0, 0)
	show("seek", err)
	f := must(os.Open("target"))
	show("truncate", f.Truncate(0))
	_, err = f.Seek(0, 9)
	show("whence", err)
	_, err = syscall.Pread(int(f.Fd()), make([]byte, 1), -1)
	show("pread", err)
	show("negative size", os.Truncate("target", -1))
	show("chdir to a file", os.Chdir("target"))
	show("fchdir to a file", f.Chdir())
	show("deadline", errors.Is(f.SetDeadline(time.Now()), os.ErrNoDeadline))
	_, err = f.ReadDir(1)
	show("listing a file", err)
	f.Close()
}
