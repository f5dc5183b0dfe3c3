package toolchain

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

func TestAnchorsMustMatchOnce(t *testing.T) {
	const text = `package p

type T struct{ a int }

func (t *T) M() { x := 1; _ = x }

func f() {
	if true {
		g()
	}
	g()
}

func g() {}
`
	edits := map[string]func(*source) error{
		"func T.N":      func(s *source) error { return s.enter("T.N", "h()") },
		"func nosuch":   func(s *source) error { return s.swap("nosuch", "x", "y") },
		"f: g()":        func(s *source) error { return s.before("f", "g()", "h()") },
		"f: nosuch":     func(s *source) error { return s.before("f", "nosuch", "h()") },
		"g()":           func(s *source) error { return s.swap("", "g()", "h()") },
		"type U struct": func(s *source) error { return s.field("U", "b int") },
	}
	for anchor, edit := range edits {
		s, err := parseSource("p.go", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var missed *anchorError
		if err := edit(s); !errors.As(err, &missed) || missed.anchor != anchor || missed.found == 1 {
			t.Errorf("error %v, want one about the anchor %q", err, anchor)
		}
	}
}

func TestEdits(t *testing.T) {
	s, err := parseSource("p.go", []byte("package p\n\ntype T struct {\n\ta int\n}\n\nfunc (t *T) M() "+
		"{\n\tt.a++\n\tprintln(t.a)\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		s.field("T", "b int"), s.enter("T.M", "t.b++"), s.before("T.M", "println(", "check()"),
		s.swap("T.M", "t.a++", "t.a += 2"), s.add("func check() {}"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = "package p\n\ntype T struct {\n\ta int\n\tb int\n}\n\nfunc (t *T) M() { t.b++; \n\tt.a " +
		"+= 2\n\tcheck()\n\tprintln(t.a)\n}\n\nfunc check() {}\n"
	if got := string(s.result()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestUnknownReleaseIsRefused gives a distribution in which one anchor is gone.
func TestUnknownReleaseIsRefused(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	for _, p := range slices.Concat(patches, preinit) {
		path, text, err := readFirst(filepath.Join(strings.TrimSpace(string(goroot)), "src"), p.path)
		if err != nil {
			t.Fatal(err)
		}
		if path == "runtime/chan.go" {
			text = []byte(strings.Replace(string(text), "func closechan(", "func closeChannel(", 1))
		}
		to := filepath.Join(broken, "src", path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOROOT", broken)
	_, err = New(context.Background(), ".", t.TempDir())
	for _, want := range []string{" is not supported", "go1.",
		`runtime/chan.go: anchor "func closechan" found 0 times instead of once`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestSupportedReleases(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.25": true, "go1.25.3": true, "go1.26rc1": true, "go1.27.0": true,
		"go1.24.9": false, "go1.28": false, "go1.250": false, "devel go1.27-abc": false,
	} {
		if got := isSupported(version); got != want {
			t.Errorf("isSupported(%q) = %v, want %v", version, got, want)
		}
	}
}

// TestToolchainIsMadeOnce: several processes may want the same one at once.
func TestToolchainIsMadeOnce(t *testing.T) {
	cache := t.TempDir()
	old := filepath.Join(cache, "go1.26.0-0123456789abcdef")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-unusedFor - time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := New(context.Background(), ".", cache); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() == filepath.Base(old) {
		t.Errorf("the cache holds %v, want one distribution, the unused one gone", entries)
	}
}

// TestToolchainOfAnotherUser: a distribution that another user has patched is used as it is.
func TestToolchainOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
	cache := t.TempDir()
	made, err := New(context.Background(), ".", cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(cache), 0o755); err != nil { // else nobody else sees it
		t.Fatal(err)
	}
	err = osthread.Run(func() error {
		if err := unix.Setfsuid(65534); err != nil {
			return err
		}
		if now := time.Now(); os.Chtimes(made.Root, now, now) == nil {
			t.Error("the distribution is not another user's")
		}
		found, err := New(context.Background(), ".", cache)
		if err == nil && (found.Root != made.Root || found.Fresh) {
			t.Errorf("%+v, want that in %s", found, made.Root)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestProgramNames(t *testing.T) {
	p := &Program{Open: []string{"main", "example.com/m/x", "example.com/m/y/..."}}
	for function, want := range map[string]bool{
		"main.main": true, "main.(*T).M": true, "mainly.f": false, "example.com/m/x.f": true,
		"example.com/m/x/z.f": false,
		"example.com/m/y/z.f": true, "example.com/m/y.f": true, "example.com/m/yy.f": false,
		"fmt.Println": false,
	} {
		if got := p.IsOwn(Position{Function: function}); got != want {
			t.Errorf("IsOwn(%s) = %v, want %v", function, got, want)
		}
	}
}

// TestFlagsAreNoPackages: a package may come from somebody else's recording, and the go command
// runs what -toolexec names.
func TestFlagsAreNoPackages(t *testing.T) {
	_, err := new(Toolchain).Build(t.Context(), BuildOptions{Package: "-toolexec=x"})
	if err == nil || !strings.Contains(err.Error(), `"-toolexec=x" is no package`) {
		t.Error(err)
	}
}
