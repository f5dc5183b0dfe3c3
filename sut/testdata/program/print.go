package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == "at times" {
		os.Stdout.WriteString("initialised\n")
	}
}

// printAtTimes prints, in the way that the argument says, and exits with 3; or does neither. What
// it opens it leaves open.
func printAtTimes() {
	loud, silent := make(chan bool, 1), make(chan bool, 1)
	loud <- true
	silent <- true
	select {
	case <-silent:
		return
	case <-loud:
	}
	text := []byte("printed\n")
	switch os.Args[2] {
	case "fmt":
		fmt.Print(string(text))
	case "println":
		println("printed")
	case "write":
		syscall.Write(2, text)
	case "writev":
		v := syscall.Iovec{Base: &text[0], Len: uint64(len(text))}
		syscall.Syscall(syscall.SYS_WRITEV, 1, uintptr(unsafe.Pointer(&v)), 1)
	case "dup":
		fd, _ := syscall.Dup(1)
		syscall.Write(fd, text)
	case "socket":
		fd, _ := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		fmt.Print("printed", fd, "\n")
	case "open":
		f, _ := os.Open("/dev/null")
		fmt.Print("printed", f.Fd(), "\n")
	case "panic":
		panic("printed")
	}
	os.Exit(3)
}
