// Command disk prints what it finds in its directory, and then does to it what its arguments say:
// a line of words each. Lines behind one that says "go" are for a goroutine of their own.
package main

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// early is what package initialisation finds, where an argument says that it looks.
var early = func() string {
	b := []byte("nothing")
	if len(os.Args) > 1 && os.Args[1] == "early" {
		b, _ = os.ReadFile("a")
	}
	if len(os.Args) > 1 && os.Args[1] == "early write" {
		os.WriteFile("early", nil, 0o644)
	}
	return string(b)
}()

func main() {
	found()
	var all sync.WaitGroup
	lines := os.Args[1:]
	for i, line := range lines {
		if line == "go" {
			all.Go(func() { do(lines[i+1:]) })
		}
	}
	do(lines)
	all.Wait()
}

// do does what lines say, up to one that begins a goroutine.
func do(lines []string) {
	for _, line := range lines {
		words := strings.Fields(line)
		if words[0] == "go" {
			return
		}
		if operation := operations[words[0]]; operation != nil {
			operation(words[1:])
		} else if !strings.HasPrefix(line, "early") {
			panic(line)
		}
	}
}

// found prints what there is.
func found() {
	if early != "nothing" {
		fmt.Printf("early %q\n", early)
	}
	filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if e := syscall.Lstat(path, &st); e != nil || err != nil {
			fmt.Println(path, e, err)
			return nil
		}
		switch what := fmt.Sprintf("%s %o", path, st.Mode); st.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			fmt.Println(what, st.Nlink)
		case syscall.S_IFLNK:
			target, _ := os.Readlink(path)
			fmt.Println(what, st.Nlink, target)
		case syscall.S_IFREG:
			b, err := os.ReadFile(path)
			h := fnv.New32a()
			h.Write(b)
			fmt.Println(what, st.Nlink, st.Size, len(b), h.Sum32(), err)
		default:
			fmt.Println(what, st.Nlink)
		}
		return nil
	})
	fmt.Println("--")
}

// operations take the words behind theirs. Most fail often, and nobody looks.
var operations = map[string]func(w []string){
	"create": func(w []string) { opened(w[0], os.O_CREATE|os.O_EXCL|os.O_RDWR, func(*os.File) {}) },
	"write": func(w []string) {
		opened(w[0], os.O_WRONLY, func(f *os.File) { f.WriteAt(some(w[2]), int64(number(w[1]))) })
	},
	"append": func(w []string) {
		opened(w[0], os.O_WRONLY|os.O_APPEND, func(f *os.File) { f.Write(some(w[1])) })
	},
	"durable": func(w []string) {
		opened(w[0], os.O_WRONLY|syscall.O_DSYNC, func(f *os.File) { f.WriteAt(some(w[2]), int64(number(w[1]))) })
	},
	"empty":    func(w []string) { opened(w[0], os.O_WRONLY|os.O_TRUNC, func(*os.File) {}) },
	"truncate": func(w []string) { os.Truncate(w[0], int64(number(w[1]))) },
	"rename":   func(w []string) { syscall.Rename(w[0], w[1]) },
	"link":     func(w []string) { os.Link(w[0], w[1]) },
	"symlink":  func(w []string) { os.Symlink(w[0], w[1]) },
	"unlink":   func(w []string) { syscall.Unlink(w[0]) },
	"rmdir":    func(w []string) { syscall.Rmdir(w[0]) },
	"mkdir":    func(w []string) { syscall.Mkdir(w[0], 0o755) },
	"chmod":    func(w []string) { os.Chmod(w[0], fs.FileMode(number(w[1]))) },
	"sync":     func(w []string) { opened(w[0], os.O_RDONLY, func(f *os.File) { f.Sync() }) },
	"syncall":  func([]string) { syscall.Sync() },
	"sleep":    func(w []string) { time.Sleep(time.Duration(number(w[0])) * time.Second) },
	"touch":    func(w []string) { at := time.Unix(int64(number(w[1])), 0); os.Chtimes(w[0], at, at) },
	"time": func(w []string) {
		if info, err := os.Stat(w[0]); err == nil {
			fmt.Println(w[0], info.ModTime().Unix())
		}
	},
	// hold writes to a file that is removed while it is open.
	"hold": func(w []string) {
		opened(w[0], os.O_RDWR, func(f *os.File) {
			syscall.Unlink(w[0])
			f.WriteAt(some(w[1]), 0)
			f.Sync()
		})
	},
}

// opened does something with a file, if it can be opened.
func opened(name string, flags int, do func(*os.File)) {
	if f, err := os.OpenFile(name, flags, 0o644); err == nil {
		do(f)
		f.Close()
	}
}

func number(word string) int {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// some is so many bytes, which differ by their number.
func some(word string) []byte {
	b := make([]byte, number(word))
	for i := range b {
		b[i] = byte(len(b) + i*i)
	}
	return b
}
