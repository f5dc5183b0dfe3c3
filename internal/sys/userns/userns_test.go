package userns

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExplain: the setting that forbids user namespaces is named with its remedy, whatever the
// error. Without one it goes by the error, and an error of another kind stays what it is.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		err              error
		want             string
	}{
		{"Debian", "kernel/unprivileged_userns_clone", "0\n", unix.EPERM,
			"sysctl -w kernel.unprivileged_userns_clone=1"},
		{"none", "user/max_user_namespaces", "0\n", unix.ENOSPC, "sysctl -w user.max_user_namespaces=10000"},
		{"Ubuntu", "kernel/apparmor_restrict_unprivileged_userns", "1\n", unix.EACCES,
			"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"allowed", "kernel/apparmor_restrict_unprivileged_userns", "0\n", unix.EPERM,
			"masked /proc of a container"},
		{"no setting", "", "", unix.EPERM, "docs/guide/privileges.md"},
		{"an answer", "", "", errors.New("mount proc: operation not permitted"), "docs/guide/privileges.md"},
		{"too many", "user/max_user_namespaces", "9\n", unix.ENOSPC, "CONFIG_USER_NS"},
	} {
		directory := t.TempDir()
		if c.file != "" {
			file := filepath.Join(directory, c.file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
				os.WriteFile(file, []byte(c.text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		got := explain(c.err, directory)
		var forbidden *Forbidden
		if !errors.As(got, &forbidden) || !errors.Is(got, c.err) || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
	if got := explain(unix.ENOENT, t.TempDir()); got != unix.ENOENT {
		t.Errorf("of another kind: %v", got)
	}
	if Explain(nil) != nil {
		t.Error("no error is one")
	}
}

// TestWith: root needs no user namespace. Another user is root in one, alone, and has no groups.
func TestWith(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root starts another user")
	}
	if a := With(&syscall.SysProcAttr{}); a.Cloneflags != 0 || Unprivileged() {
		t.Errorf("for root: %+v, %t", a, Unprivileged())
	}
	const asAnother = "TANDEM_TEST_USERNS"
	if os.Getenv(asAnother) != "" {
		return
	}
	// A test is built where only root may look.
	file := filepath.Join(t.TempDir(), "test")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(file, b, 0o755)
	}
	for at := filepath.Dir(file); err == nil && at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		err = os.Chmod(at, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(file, "-test.run", "^TestAsAnother$", "-test.v")
	run.Env = append(os.Environ(), asAnother+"=start")
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	run.Dir = "/"
	out, err := run.CombinedOutput()
	if strings.Contains(string(out), "no user namespace can be had") {
		t.Skipf("on this machine: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "root inside") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAsAnother is run by TestWith, as an ordinary user, and then by itself in a user namespace.
func TestAsAnother(t *testing.T) {
	const asAnother = "TANDEM_TEST_USERNS"
	switch os.Getenv(asAnother) {
	case "start":
		inside := exec.Command("/proc/self/exe", "-test.run", "^TestAsAnother$", "-test.v")
		inside.Env = append(os.Environ(), asAnother+"=inside")
		inside.SysProcAttr = With(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET})
		out, err := inside.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(Explain(err))
		}
	case "inside":
		if os.Geteuid() != 0 || os.Getegid() != 0 || !Unprivileged() {
			t.Errorf("user %d, group %d, %t", os.Geteuid(), os.Getegid(), Unprivileged())
		}
		if err := syscall.Setgroups(nil); err != unix.EPERM {
			t.Errorf("setgroups: %v", err)
		}
		if err := unix.Sethostname([]byte("x")); err != unix.EPERM {
			t.Errorf("over the machine: %v", err)
		}
		t.Log("root inside")
	default:
		t.Skip("TestWith runs it")
	}
}
