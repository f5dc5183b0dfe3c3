package toolchain

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompiled: names of packages are counted, wherever writes end, and all else is the message.
func TestCompiled(t *testing.T) {
	packages := []listedPackage{{ImportPath: "errors"}, {ImportPath: "example.com/p"}, {ImportPath: "main"}}
	const text = "errors\nexample.com/p\n# main\n./main.go:3:1: errors\nerrors of main\nno end"
	const messages = "failed; fix what is wrong there:\n# main\n./main.go:3:1: errors\nerrors of main\nno end"
	for size := 1; size <= len(text); size++ {
		var counts []string
		c := newCompiled(packages, func(n, all int) { counts = append(counts, fmt.Sprint(n, " of ", all)) })
		for at := 0; at < len(text); at += size {
			part := text[at:min(at+size, len(text))]
			if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if diff := cmp.Diff([]string{"1 of 3", "2 of 3"}, counts); diff != "" {
			t.Fatalf("in parts of %d bytes (-want +got):\n%s", size, diff)
		}
		if got := c.addTo(errors.New("failed")).Error(); got != messages {
			t.Fatalf("in parts of %d bytes: %q", size, got)
		}
	}
	all := newCompiled(packages, nil)
	fmt.Fprint(all, "errors\n")
	if got := all.addTo(errors.New("failed")).Error(); got != "failed; fix what is wrong there:\nerrors" {
		t.Errorf("where nobody asks for progress: %q", got)
	}
	packages[0].Standard = true
	for said, want := range map[string]string{
		"# errors\nx":            ":",
		"# errors\nx\n# main\ny": "; fix what is wrong there:",
		"# main\nlink: signal: killed": "; the compiler or the linker was killed, so see that there is " +
			"enough memory:",
	} {
		c := newCompiled(packages, nil)
		fmt.Fprint(c, said+"\n")
		if got := c.addTo(errors.New("failed")).Error(); got != "failed"+want+"\n"+said {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	if failed := errors.New("failed"); newCompiled(packages, nil).addTo(failed) != failed {
		t.Error("without a message the error is another one")
	}
}
