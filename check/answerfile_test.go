package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/explore"
)

func openKept(t testing.TB, path string) *saved.AnswerFile {
	t.Helper()
	k, err := saved.OpenAnswerFile(path, "these peers", nil, 0, isThese, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func isThese(description string) error {
	if description != "these peers" {
		return fmt.Errorf("it is of %s", description)
	}
	return nil
}

// TestAnswerFile: with the answers of a first check, a second one gives the same verdict without
// any peer, though their time and random numbers are not chosen.
func TestAnswerFile(t *testing.T) {
	for _, e := range []example{httpGet, scpTo} {
		t.Run(e.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kept")
			o := e.options(t)
			o.Kept = openKept(t, path)
			first, said := outputs(t, o)
			if err := o.Kept.Close(); err != nil {
				t.Fatal(err)
			}
			o = e.options(t)
			o.Client, o.Kept = nil, openKept(t, path) // nobody could start a peer
			second, saidAgain := outputs(t, o)
			if err := o.Kept.Close(); err != nil {
				t.Fatal(err)
			}
			if second.Verdict.Kind != first.Verdict.Kind ||
				second.Verdict.Executions != first.Verdict.Executions {
				t.Errorf("%v, then %v", first.Verdict, second.Verdict)
			}
			if fmt.Sprint(said) != fmt.Sprint(saidAgain) {
				t.Errorf("the outcomes were %v, then %v", said, saidAgain)
			}
			if first.Counts.Misses == 0 || second.Counts.Misses > 0 {
				t.Errorf("the peers were asked %d times, then %d times", first.Counts.Misses,
					second.Counts.Misses)
			}
		})
	}
}

// TestAnswerFileGrows: what is new is asked of the peers, and kept with the rest.
func TestAnswerFileGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	var misses [3]int
	for i, requests := range []string{"1", "2", "2"} {
		o := alphabet.options(t)
		o.Args = []string{"-connections", "1", "-requests", requests}
		o.Kept = openKept(t, path)
		result := check(t, o)
		if result.Verdict.Kind != explore.Holds {
			t.Fatal(result.Verdict)
		}
		misses[i] = result.Counts.Misses
		if err := o.Kept.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if misses != [3]int{3, 2, 0} { // connect, request, close; another request, and close after it
		t.Errorf("the peers were asked %v times", misses)
	}
}

// TestAnswerFileOfResumedRun: a check that goes on keeps what one that is not interrupted does,
// byte for byte: also where more was kept than the run that was saved has, and where the file is
// gone.
func TestAnswerFileOfResumedRun(t *testing.T) {
	dir := t.TempDir()
	kept, saved := filepath.Join(dir, "kept"), filepath.Join(dir, "run")
	start := func(executions int, saving *Saving, path string) conclusion {
		o := alphabet.options(t)
		o.Args = []string{"-connections", "2", "-requests", "1"}
		o.Search, o.Saving, o.Kept = maxExecutions(dporSearch(), executions), saving, openKept(t, path)
		defer o.Kept.Close()
		if saving == nil {
			return conclusionOf(t, check(t, o))
		}
		return conclusionOf(t, session(t, o, 0))
	}
	want := start(1000, nil, filepath.Join(dir, "uninterrupted"))
	all := read(t, filepath.Join(dir, "uninterrupted"))
	start(4, savingIn(t, saved, false), kept)
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	start(8, savingIn(t, saved, true), kept)
	if some := read(t, kept); len(some) >= len(all) {
		t.Fatalf("after some executions %d bytes are kept, and in all %d", len(some), len(all))
	}
	for _, run := range []string{filepath.Join(dir, "copy"), saved} {
		if diff := cmp.Diff(want, start(1000, savingIn(t, run, true), kept)); diff != "" {
			t.Errorf("%s (-uninterrupted +resumed):\n%s", run, diff)
		}
		if got := read(t, kept); !bytes.Equal(got, all) {
			t.Errorf("%s: %d bytes are kept, want the same %d as without an interruption", run, len(got),
				len(all))
		}
		if err := os.Remove(kept); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
