package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/internal/textutil"
)

// Status is tandem status.
func Status() *cobra.Command {
	var o check.Distribution
	var page string
	var follow bool
	c := &cobra.Command{
		Use:   "status URL",
		Short: "Show the check that is led at a NATS server, and its workers",
		Long: `Shows how far the check is that is led at a NATS server, and what each worker has done for it:
as a table, or as a page for a browser, which loads itself anew.`,
		Example: "  tandem status nats://10.0.0.5:4222\n" +
			"  tandem status nats://10.0.0.5:4222 --html status.html --follow",
		Annotations: map[string]string{
			WithoutArguments: "name the server, as in tandem status URL; the check that leads prints it"},
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Server = args[0]
			// A table that comes each second is what watch(1) is for.
			if follow && page == "" {
				return errors.New("--follow writes a page again and again: name it with --html")
			}
			return showStatus(c, o, page, follow)
		},
	}
	c.Flags().StringVar(&page, "html", "", "write a page to a `file`, and no table")
	c.Flags().BoolVar(&follow, "follow", false, "write the page each second, until the check ends")
	markFile(c.Flags(), "html")
	addLoginFlags(c.Flags(), &o)
	return c
}

// showStatus shows the status once, or until the check ends.
func showStatus(c *cobra.Command, o check.Distribution, page string, follow bool) error {
	// Whoever follows sees each second what the leader and the workers tell once in a second.
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		// A connection each time: the server may come and go meanwhile.
		s, err := check.StatusOf(c.Context(), o)
		if err != nil {
			return err
		}
		if page == "" {
			writeStatus(c.OutOrStdout(), s)
			return nil
		}
		// The last page says that no check leads there, and does not load itself anew.
		if err := writeStatusPage(page, s, follow); err != nil || !follow || s.Progress == nil {
			return err
		}
		select {
		case <-each.C:
		case <-c.Context().Done():
			return nil
		}
	}
}

// writeStatus writes a table.
func writeStatus(w io.Writer, s *check.Distributed) {
	// Columns are as wide as what is in them, so the table can be cut into words by scripts.
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer out.Flush()
	// How far the check is comes first, then a line for each worker.
	for _, row := range progressOf(s) {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, strings.ToUpper(strings.Join(workerColumns, "\t")))
	for _, row := range workersOf(s) {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
}

// progressOf is how far a check is, in words.
func progressOf(s *check.Distributed) [][]string {
	// A server that nobody has ever used is as good as one where no check leads now.
	p := s.Progress
	if p == nil {
		return [][]string{{"no check leads there"}}
	}
	elapsed := p.Elapsed.Round(time.Second)
	if p.Run.Key != "" {
		return statesOf(s, elapsed)
	}
	// Parts that are withdrawn were reached by the search before a worker was done with them.
	return [][]string{
		{"check", p.Run.Package},
		{"executions", fmt.Sprintf("%s in %v", textutil.Count(p.Executions), elapsed)},
		{"parts", fmt.Sprintf("%s done, %s open, %s withdrawn", textutil.Count(p.Parts.Done),
			textutil.Count(p.Parts.Open()), textutil.Count(p.Parts.Withdrawn))},
		{"by workers", fmt.Sprintf("%s, %s of them twice or too late",
			textutil.CountOf(p.Parts.Executions+p.Parts.Repeated, "execution"),
			textutil.Count(p.Parts.Repeated))},
	}
}

// statesOf is how far a search over states is, in words. It is told at the end of each level.
func statesOf(d *check.Distributed, elapsed time.Duration) [][]string {
	s, name := d.Progress.States, []string{"check", d.Progress.Run.Package}
	if s == nil {
		return [][]string{name, {"states", fmt.Sprintf("none is told yet, after %v", elapsed)}}
	}
	return [][]string{
		name,
		{"states", fmt.Sprintf("%s in %v, the last ones %s from the start", textutil.Count(s.Count), elapsed,
			textutil.CountOf(s.Depth, "transition"))},
		{"transitions", textutil.Count(int(s.Transitions))},
	}
}

// workerColumns are the columns of the second table.
var workerColumns = []string{"worker", "host", "parts", "executions", "per second", "does"}

// workersOf is what each worker has done, in words.
func workersOf(s *check.Distributed) (rows [][]string) {
	for _, w := range s.Workers {
		// A worker that cannot help says so and ends. Its entry stays for some seconds.
		does := cmp.Or(w.Problem, "waits for a check")
		switch {
		case w.Part != 0:
			does = fmt.Sprint("explores part ", w.Part)
		case len(w.Shares) > 0:
			does = "does " + textutil.CountOf(len(w.Shares), "part") + " of a search over states"
		case w.Run != "":
			does = "waits for a part"
		}
		if len(w.Shares) > 0 { // nobody executes a program then
			rows = append(rows, []string{w.ID, w.Host, textutil.Count(len(w.Shares)), "-", "-", does})
			continue
		}
		// Rates are whole numbers: they change each second anyway.
		rows = append(rows, []string{w.ID, w.Host, textutil.Count(w.Parts), textutil.Count(w.Executions),
			textutil.Count(int(math.Round(w.Rate))), does})
	}
	return rows
}

// statusPage needs nothing but itself: no script, and nothing from elsewhere. So it can be kept, or
// sent to somebody, and shows what it showed.
var statusPage = template.Must(template.New("status").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tandem status</title>
{{if .Follow}}<meta http-equiv="refresh" content="2">
{{end}}<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse; margin-bottom: 2em }
th, td { text-align: left; padding: .2em 1.2em .2em 0; border-bottom: 1px solid #ddd }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } }
</style></head><body>
<h1>tandem status</h1>
<table>{{range .Progress}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
<table><tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr>
{{range .Workers}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
</body></html>
`))

// writeStatusPage writes a page, in place of the one that is there. Who reads it sees one of them
// whole.
func writeStatusPage(path string, s *check.Distributed, follow bool) error {
	// A browser may read it at any moment, so it takes the place of the last one in one step.
	file, err := os.CreateTemp(filepath.Dir(path), ".tandem-status-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	// Names come from other machines, so the template escapes them.
	err = statusPage.Execute(file, map[string]any{"Follow": follow && s.Progress != nil,
		"Progress": progressOf(s), "Columns": workerColumns, "Workers": workersOf(s)})
	// Others may read it, too: a temporary file is for its owner only.
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}
