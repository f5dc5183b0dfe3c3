// Package userns has user namespaces that take no privilege. In one of them a process of an
// ordinary user has all capabilities, over the other namespaces that are made in it.
//
// Without privilege one user and one group can be mapped: those of the process. They are root
// there. No other user or group exists, and setgroups(2) is denied.
package userns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// With adds a user namespace to what a process is started with, unless this process is root. The
// process is root in it, and so may make its other namespaces.
func With(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	if uid := os.Geteuid(); uid != 0 {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// Unprivileged tells whether this process is in a user namespace that was made without privilege:
// the kernel maps a group there only once setgroups(2) is denied, for good.
func Unprivileged() bool {
	text, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && strings.TrimSpace(string(text)) == "deny"
}

// Forbidden is the error where no user namespace can be had.
type Forbidden struct {
	Why, Advice string
	Err         error // what the kernel, or a daemon in such a namespace, has answered
}

func (f *Forbidden) Error() string {
	return fmt.Sprintf("no user namespace can be had, since %s: %s: %v", f.Why, f.Advice, f.Err)
}

func (f *Forbidden) Unwrap() error { return f.Err }

// settings of the kernel can forbid user namespaces. The first is Debian's, the last Ubuntu's: it
// allows the namespace, and takes away the capabilities in it.
var settings = []struct{ name, forbids, allows string }{
	{"kernel.unprivileged_userns_clone", "0", "1"},
	{"user.max_user_namespaces", "0", "10000"},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
}

// Explain says why a process with a user namespace could not be started, or could not make its
// other namespaces: by the setting that forbids it, or else by what may. For root, and for errors
// that the kernel gives for other reasons, the error stays as it is.
func Explain(err error) error {
	if err == nil || os.Geteuid() == 0 {
		return err
	}
	return explain(err, "/proc/sys")
}

// explain is Explain, with the settings below a directory.
func explain(err error, directory string) error {
	for _, s := range settings {
		file := filepath.Join(directory, strings.ReplaceAll(s.name, ".", "/"))
		text, unread := os.ReadFile(file)
		if unread == nil && strings.TrimSpace(string(text)) == s.forbids {
			return &Forbidden{s.name + " is " + s.forbids,
				fmt.Sprintf("have root set it (sysctl -w %s=%s), or run as root", s.name, s.allows), err}
		}
	}
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES),
		strings.Contains(err.Error(), unix.EPERM.Error()): // of a daemon, which sends text
		return &Forbidden{
			"something forbids it, such as the seccomp profile or the masked /proc of a container",
			"give a container --privileged and root, or see docs/guide/privileges.md", err}
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return &Forbidden{"this kernel has none, or no more of them",
			"run as root, or on a kernel with CONFIG_USER_NS", err}
	}
	return err
}
