// Command refused does what cannot be checked: the first argument names it.
package main

import (
	"io"
	"os"
	"runtime/trace"
	"syscall"
)

func main() { operations[os.Args[1]]() }

var operations = map[string]func(){
	"process":  func() { os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}) },
	"proc":     func() { os.ReadFile("/proc/meminfo") },
	"listing":  func() { os.ReadDir("/proc") },
	"sys":      func() { os.WriteFile("/sys/kernel/mm/transparent_hugepage/enabled", nil, 0) },
	"device":   func() { os.Open("/dev/ptmx") },
	"other":    func() { syscall.Kill(1, syscall.SIGTERM) },
	"inotify":  func() { syscall.InotifyInit() },
	"epoll":    func() { syscall.EpollCreate1(0) },
	"mapping":  func() { syscall.Mmap(file(), 0, 10, syscall.PROT_WRITE, syscall.MAP_SHARED) },
	"chroot":   func() { syscall.Chroot("/tmp") },
	"limit":    func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 10, Max: 10}) },
	"identity": func() { syscall.Setuid(1) },
	"owner":    func() { syscall.Syscall(syscall.SYS_FCNTL, uintptr(file()), syscall.F_SETOWN, 1000) },
	"trace":    func() { trace.Start(io.Discard) },
}

func file() int {
	fd, err := syscall.Open("file", syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err != nil {
		panic(err)
	}
	return fd
}
