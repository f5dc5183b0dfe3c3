package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// document has a file, a change of it, commands, and text that is for the reader alone.
const document = "# Title\n\nThis is `a/one.txt`:\n\n```text\none\ntwo\n```\n\n" +
	"```go\nnobody writes this\n```\n\nChange `a/one.txt`:\n\n```diff\n one\n-two\n+three\n```\n\n" +
	"```console\n$ cat a/one.txt\none\n...\n$ cd a\n$ export X=1 \\\n  Y=\"2  3\"\n$ ls; echo \"$X$Y\"\n" +
	"one.txt\n12  3\n$ false\n$ echo $?\n1\n```\n"

// follow1 follows a document in a directory for the test.
func follow1(t *testing.T, text string) error {
	t.Helper()
	name := filepath.Join(t.TempDir(), "document.md")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	err := follow(name, 10*time.Second, false)
	left, _ := os.ReadDir(os.TempDir())
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return err
}

// TestFollow: files, changes, directories, variables and exit codes last from step to step.
func TestFollow(t *testing.T) {
	if err := follow1(t, document); err != nil {
		t.Error(err)
	}
}

// TestDrift: each way in which a document can be wrong is an error in the right line.
func TestDrift(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"\none\n...\n", "\none\n", "23: more is printed"},
		{"\none\n...\n", "\none\nfour\n...\n", "23: this is not printed, or not in this place:\n    four"},
		{"$ false\n$ echo $?\n1", "$ false", "32: the exit code is 1"},
		{"$ echo $?\n1", "$ echo $?\n2", "33: this is not printed"},
		{"$ false", "VIOLATED: a bug", "29: this is not printed, or not in this place:\n    VIOLATED"},
		{"-two", "-to", "16: a/one.txt: found 0 times"},
		{"Change `a/one.txt`", "Change `a/two.txt`", "16: open"},
		{"$ cat a/one.txt\n", "cat a/one.txt\n", " line 23: a block of commands begins with output"},
		{"1\n```\n", "1\n", " line 22: the block has no end"},
		{"`a/one.txt`", "`../one.txt`", " line 5: ../one.txt is not below"},
		{"`a/one.txt`:", "`a/one.go` says so:", " line 3: the name of the file must be"},
		{"$ false", "$ kill -9 $$", "32: signal: killed"},
	} {
		if err := follow1(t, strings.Replace(document, c.old, c.new, 1)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
	if err := follow1(t, "# Nothing\n"); err == nil {
		t.Error("a document without steps has no error")
	}
}

// TestVerdicts: the headline that is shown says which exit code it is.
func TestVerdicts(t *testing.T) {
	for code, headline := range []string{"HOLDS: all", "VIOLATED: a bug", "UNKNOWN: a bound"} {
		for got := range 3 {
			err := follow1(t, "```console\n$ echo '"+headline+"'; sh -c 'exit "+string(rune('0'+got))+
				"'\n"+headline+"\n```\n")
			if (err == nil) != (got == code) {
				t.Errorf("%s with exit code %d: %v", headline, got, err)
			}
		}
	}
}

// TestTries: a command whose output is decided by chance is typed again, as often as its document
// says, and one block has no effect on the next.
func TestTries(t *testing.T) {
	const third = "```console\n$ echo x >>n; wc -l <n\n3\n```\n"
	const note = "<!-- tried up to 3 times: a test of chance -->\n\n"
	for _, c := range []struct{ text, want string }{
		{note + third, ""},
		{third, "2: this is not printed"},
		{strings.Replace(note, "3", "2", 1) + third, "4: this is not printed"},
		{note + "Text.\n\n" + third, "6: this is not printed"},
		{note + "```console\n$ true\n```\n\n" + third, "8: this is not printed"},
	} {
		err := follow1(t, c.text)
		if err == nil && c.want != "" || err != nil && c.want == "" ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestPatience: a command that does not end is ended, with what it has started.
func TestPatience(t *testing.T) {
	var log bytes.Buffer
	r, err := newReader(t.TempDir(), 100*time.Millisecond, &log, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	begun := time.Now()
	if _, err := r.run("sleep 100 & wait", ""); err == nil || !strings.Contains(err.Error(), "not done") {
		t.Errorf("a command that takes too long: %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second { // the child holds the pipe until it is killed
		t.Errorf("it was ended after %v", took)
	}
}

// TestPrompts: what is shown behind a prompt is typed, and is no part of the output.
func TestPrompts(t *testing.T) {
	text := "```console\n$ printf '(dlv) '; read a; echo got $a; printf '(dlv) (dlv) '; read b; echo $b\n" +
		"(dlv) print 1\ngot print 1\n(dlv) quit\nquit\n```\n"
	if err := follow1(t, text); err != nil {
		t.Error(err)
	}
}

// TestCompareTwin compares the comparison with a regular expression, on random lines that are often
// nearly alike.
func TestCompareTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	line := func(pieces ...string) string {
		var s strings.Builder
		for range random.IntN(4) {
			s.WriteString(pieces[random.IntN(len(pieces))])
		}
		return s.String()
	}
	agree := map[bool]int{}
	for range 20_000 {
		var want, got []string
		for range random.IntN(5) {
			want = append(want, line("a", "b", "..."))
		}
		for range random.IntN(5) {
			got = append(got, line("a", "b", "b"))
		}
		same := compare(want, strings.Join(got, "\n")) == nil
		if twin := compareTwin(want, got); twin != same {
			t.Fatalf("%q shown, %q printed: %v, want %v", want, got, same, twin)
		}
		agree[same]++
	}
	if agree[true] < 1000 || agree[false] < 1000 {
		t.Errorf("the cases are too much alike: %v", agree)
	}
}

// compareTwin makes one regular expression of all that is shown.
func compareTwin(want, got []string) bool {
	expression := "^"
	for _, line := range trimmed(want) {
		if strings.TrimSpace(line) == elision {
			expression += `(?:[^\n]*\n)*`
			continue
		}
		expression += strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `[^\n]*`) + `\n`
	}
	text := ""
	for _, line := range trimmed(got) {
		text += line + "\n"
	}
	return regexp.MustCompile(expression + "$").MatchString(text)
}
