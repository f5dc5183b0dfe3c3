package man

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// command is one with all that a page can have.
func command() *cobra.Command {
	c := &cobra.Command{
		Use: "tool", Short: `Does "all"`,
		Long:    "One line.\n.TH is no request here\n'nor this\n\n  an example\nC:\\x -n",
		Example: "  tool below --count 3\n  .hidden",
	}
	c.Flags().IntP("count", "c", 2, "run it `n` times; -n is none")
	c.Flags().Bool("quiet", false, "say less")
	c.AddCommand(&cobra.Command{Use: "below", Short: "Is below", Run: func(*cobra.Command, []string) {}},
		&cobra.Command{Use: "gone", Hidden: true, Run: func(*cobra.Command, []string) {}})
	return c
}

func pages() map[string]string {
	return Pages(command(), Info{Version: "v1.2.3", Date: time.Unix(0, 0),
		Sections: func(c *cobra.Command) []Section { return []Section{{"Flags", c.LocalFlags()}} }})
}

// TestPages: there is a page for each command that is no secret, with all of its help.
func TestPages(t *testing.T) {
	all := pages()
	if len(all) != 2 || all["tool-below.1"] == "" {
		t.Fatalf("%d pages", len(all))
	}
	for _, want := range []string{
		`.TH "TOOL" "1" "1970-01-01" "tandem v1.2.3" "Tandem"`, `tool \- Does \(dqall\(dq`,
		"\n\\&.TH is no request here\n\\&'nor this\n.PP\n", `C:\ex \-n`,
		"\n.B \\-c, \\-\\-count n\nrun it n times; \\-n is none (default 2)\n",
		"\n.B \\-\\-quiet\nsay less\n", "\n  tool below \\-\\-count 3\n", "\n.BR tool\\-below (1)\n",
	} {
		if !strings.Contains(all["tool.1"], want) {
			t.Errorf("%q is not in\n%s", want, all["tool.1"])
		}
	}
	if !strings.Contains(all["tool-below.1"], ".BR tool (1)") {
		t.Errorf("the page above is not named in\n%s", all["tool-below.1"])
	}
}

// TestRequests: every line that begins like a request is one of man(7) that the package writes.
func TestRequests(t *testing.T) {
	known := map[string]bool{".TH": true, ".SH": true, ".SS": true, ".B": true, ".BR": true, ".br": true,
		".PP": true, ".TP": true, ".nf": true, ".fi": true}
	for file, text := range pages() {
		for line := range strings.Lines(text) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if (strings.HasPrefix(word, ".") || strings.HasPrefix(word, "'")) && !known[word] {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}

// TestPagesAreShown: where there is a program that shows pages, it shows the texts and complains of
// nothing.
func TestPagesAreShown(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("there is no groff, so only TestRequests has looked at the pages")
		return
	}
	show := exec.Command(groff, "-man", "-Tascii", "-ww")
	show.Stdin = strings.NewReader(pages()["tool.1"])
	var warnings strings.Builder
	show.Stderr = &warnings
	out, err := show.Output()
	if err != nil || warnings.Len() > 0 || !strings.Contains(string(out), ".TH is no request here") {
		t.Errorf("%v, %s\n%s", err, &warnings, out)
	}
}

// FuzzEscape: no text becomes a request.
func FuzzEscape(f *testing.F) {
	f.Add(".TH x")
	f.Add("'a\\fBb")
	f.Fuzz(func(t *testing.T, text string) {
		got := escape(text)
		if strings.HasPrefix(got, ".") || strings.HasPrefix(got, "'") || strings.Contains(got, `\f`) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
