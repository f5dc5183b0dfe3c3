package main

import (
	"fmt"
	"os"
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
