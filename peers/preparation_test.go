package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const scratchOfTest = "/run/tandem"

// TestPreparation: a directory is made once, as its command leaves it, and anew when a program
// has changed.
func TestPreparation(t *testing.T) {
	cache, program := filepath.Join(t.TempDir(), "cache"), filepath.Join(t.TempDir(), "program")
	write(t, program, "1")
	const script = `mkdir -p -m 750 "$0" && cd "$0" && pwd >where && chown 33:34 where &&
		echo >/tmp/x && ls -A {scratch} >above && if echo 2>/dev/null >"$1"; then exit 9; fi &&
		ls /sys/class/net >network && mkdir empty`
	p := Preparation{
		Path:     Scratch + "/db/data",
		Command:  []string{"sh", "-c", script, Scratch + "/db/data", program},
		Programs: []string{filepath.Dir(program) + "/prog*"},
	}
	if err := p.validate(); err != nil {
		t.Fatal(err)
	}
	first := prepare(t, p, cache)
	for name, want := range map[string]string{"where": scratchOfTest + "/db/data\n", "above": "db\n"} {
		if got, err := os.ReadFile(filepath.Join(first, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(first, "empty")); err != nil || !info.IsDir() {
		t.Errorf("empty: %v", err)
	}
	made, err := os.Stat(filepath.Join(first, "where"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.Stat(filepath.Join(prepare(t, p, cache), "where"))
	if err != nil || !os.SameFile(made, again) {
		t.Errorf("it was made twice (%v)", err)
	}
	write(t, program, "22")
	if second := prepare(t, p, cache); second == first {
		t.Errorf("the program has changed, and it was not made anew")
	}
	left, err := filepath.Glob(cache + "/making-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func prepare(t *testing.T, p Preparation, cache string) string {
	t.Helper()
	directory, err := p.Make(t.Context(), cache, scratchOfTest)
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPreparationsThatFail: the error says which, how, and what was written.
func TestPreparationsThatFail(t *testing.T) {
	for _, test := range []struct {
		command, programs []string
		want              string
	}{
		{[]string{"sh", "-c", "echo no room >&2; exit 3"}, nil, "exit status 3; it wrote: no room"},
		{[]string{"true"}, nil, "has exited with 0, and not made this directory"},
		{
			[]string{"true"}, []string{"/missing/*/x"},
			"there is no /missing/*/x, which makes {scratch}/a: install it",
		},
	} {
		cache := t.TempDir()
		p := Preparation{Path: "{scratch}/a", Command: test.command, Programs: test.programs}
		_, err := p.Make(t.Context(), cache, scratchOfTest)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.command, err, test.want)
		}
		if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v (%v)", test.command, left, err)
		}
	}
}

// TestPreparedIsForgotten: what was not used for long goes when something is made.
func TestPreparedIsForgotten(t *testing.T) {
	cache := t.TempDir()
	p := func(name string) Preparation {
		return Preparation{Path: Scratch + "/" + name, Command: []string{"mkdir", name}}
	}
	old, used := prepare(t, p("old"), cache), prepare(t, p("used"), cache)
	for _, directory := range []string{old, used} {
		long := time.Now().Add(-2 * preparedUnused)
		if err := os.Chtimes(filepath.Dir(filepath.Dir(directory)), long, long); err != nil {
			t.Fatal(err)
		}
	}
	prepare(t, p("used"), cache)
	prepare(t, p("new"), cache)
	if _, err := os.Stat(old); err == nil {
		t.Error("what nobody uses is still there")
	}
	if _, err := os.Stat(used); err != nil {
		t.Error(err)
	}
}

func TestBadPreparations(t *testing.T) {
	for _, test := range []struct {
		path              string
		command, programs []string
		want              string
	}{
		{"{scratch}/../x", []string{"true"}, nil, "does not name a file below"},
		{"x", []string{"true"}, nil, "is not {scratch}/..., in its shortest form"},
		{"{scratch}/x", nil, nil, "there is no command"},
		{"{scratch}/x", []string{"a\x00"}, nil, "contains a zero byte"},
		{"{scratch}/x", []string{"a"}, []string{"b"}, "is neither an absolute path nor a pattern"},
	} {
		p := Preparation{Path: test.path, Command: test.command, Programs: test.programs}
		if err := p.validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", p, err, test.want)
		}
	}
}
