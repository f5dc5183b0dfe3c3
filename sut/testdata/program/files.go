package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
	"time"
)

// initial was opened and written before main.
var initial = func() *os.File {
	f, err := os.Create("/tmp/tandem-initial")
	if err != nil {
		panic(err)
	}
	fmt.Fprint(f, "as it was")
	f.Seek(0, 0)
	return f
}()

// files changes all kinds of files, and panics if it finds changes.
func files() {
	const dir = "/tmp/tandem-files"
	if _, err := os.Stat(dir); err == nil {
		panic("something is left of an earlier execution")
	}
	if here, _ := os.Getwd(); here == dir {
		panic("so is the working directory")
	}
	b := make([]byte, 100)
	n, err := initial.Read(b)
	fmt.Println(string(b[:n]), err)
	initial.WriteAt([]byte("spoilt"), 0)
	initial.Truncate(3)
	initial.Close()
	for _, err := range []error{
		os.Mkdir(dir, 0o700), os.WriteFile(dir+"/new", make([]byte, 50_000), 0o600), os.Chdir(dir),
		os.Remove("/etc/hostname"), os.Rename("/etc/passwd", "passwd"), os.WriteFile("/etc/group", nil, 0), os.Stdout.Close(),
	} {
		if err != nil {
			panic(err)
		}
	}
}

// oneFile is the work of counter, and a file that is written and read.
func oneFile() {
	counter()
	if err := os.WriteFile("/tmp/tandem-one", make([]byte, 1000), 0o600); err != nil {
		panic(err)
	}
	if b, err := os.ReadFile("/tmp/tandem-one"); err != nil || len(b) != 1000 {
		panic(err)
	}
}

// surroundings says where and as what the program runs.
func surroundings() {
	name, _ := os.Hostname()
	me, err := user.Current()
	executable, _ := os.Executable()
	info, _ := os.Stat(executable)
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	var tv syscall.Timeval
	syscall.Gettimeofday(&tv)
	fmt.Println(name, os.Getppid(), syscall.Getpgrp(), me != nil, err, filepath.Base(executable), info.Size() > 0,
		usage.Utime.Nano(), time.Unix(tv.Unix()).Equal(time.Now()), time.Local)
}

func overflow(n int) int { return overflow(n+1) + n }
