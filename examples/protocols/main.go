// Command protocols checks the protocols beside it, and prints what their searches took, beside the
// numbers of the papers that the protocols are from. `make protocols` runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/spin"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "protocols:", err)
		os.Exit(1)
	}
}

// settings are those of the command line.
type settings struct {
	rows   string
	all    bool
	spin   int
	online int
	update string
	steam  bool
	row    string
	dir    string
	tandem string
}

// run makes the tables. Progress goes to a writer of its own.
func run(args []string, out, progress io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("protocols", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&s.rows, "rows", ".", "`expression` that the names of the experiments match")
	flags.BoolVar(&s.all, "all", false, "also what takes longer than a minute")
	flags.IntVar(&s.spin, "spin", 0, "compare with SPIN, the shortest of so many rounds")
	flags.IntVar(&s.online, "online", 0, "instead, run systems over UDP, each so many times")
	flags.StringVar(&s.update, "update", "", "rewrite the table in this `file`")
	flags.BoolVar(&s.steam, "steam", false, "instead, the experiments of StEAM")
	flags.StringVar(&s.row, "steam-row", "", "of them, measure one in this process, by its `name`")
	flags.StringVar(&s.dir, "dir", os.TempDir(), "`directory` for states of StEAM's experiments")
	flags.StringVar(&s.tandem, "tandem", "", "`program` that checks goroutines for the table of StEAM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.row != "" {
		return steamSingle(s.row, s.dir, out)
	}
	if s.online > 0 {
		text, err := onlineTable(s.online, progress)
		if err != nil {
			return err
		}
		return s.print(text, onlineBegins, onlineEnds, out)
	}
	wanted, err := regexp.Compile(s.rows)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	if s.steam {
		text, err := steamTable(wanted, s.dir, s.tandem, progress)
		if err != nil {
			return err
		}
		return s.print(text, steamBegins, steamEnds, out)
	}
	text, err := experimentTable(experiments(), wanted, s.all, progress)
	if err != nil {
		return err
	}
	splits, err := splitTable(experiments(), wanted, progress)
	if err != nil {
		return err
	}
	text += splits
	if s.spin > 0 {
		if err := spin.Missing(); err != nil {
			return err
		}
		rows, err := spin.Compare(s.spin)
		if err != nil {
			return err
		}
		text += "\nBeside SPIN:\n\n" + spin.Table(rows)
	}
	return s.print(text, tableBegins, tableEnds, out)
}

// print writes a table, and puts it between two lines of a file if that is wanted.
func (s *settings) print(text, begins, ends string, out io.Writer) error {
	if _, err := io.WriteString(out, text); err != nil || s.update == "" {
		return err
	}
	return replaceTable(s.update, text, begins, ends)
}

// The tables stand between these lines of README.md.
const (
	tableBegins = "<!-- table: make protocols UPDATE=1 -->\n"
	tableEnds   = "<!-- end of table -->\n"
	// That of systems that run.
	onlineBegins = "<!-- table: make online UPDATE=1 -->\n"
	onlineEnds   = "<!-- end of the table of systems that run -->\n"
	// That of StEAM.
	steamBegins = "<!-- table: make steam UPDATE=1 -->\n"
	steamEnds   = "<!-- end of the table of StEAM -->\n"
)

// replaceTable puts a table into a file, between two lines of it.
func replaceTable(file, table, lineBefore, lineAfter string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(data), lineBefore)
	_, after, ends := strings.Cut(rest, lineAfter)
	if !begins || !ends {
		return fmt.Errorf("%s lacks %q or %q: add both, around the table", file, lineBefore,
			lineAfter)
	}
	made := fmt.Sprintf("Made on %s with %s, on %d processors.\n\n", time.Now().UTC().Format(time.DateOnly),
		runtime.Version(), runtime.NumCPU())
	return os.WriteFile(file, []byte(before+lineBefore+made+table+lineAfter+after), 0o644)
}
