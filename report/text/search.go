package text

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// printSummary says how much work the search was, and what its verdict rests on. Of a replay there
// is nothing to say. The heading "Search" is left out then, and so are counts that are zero: a line
// is there only where it says something.
//
// How the peers were watched and the verdict checked is said only if more is wanted.
func printSummary(p *printer.Printer, run report.Run, shrunk *report.Shrinking) {
	if n := run.Counts; n.Executions > 0 {
		p.Heading("Search")
		p.Printf("  %s%s, %s in %s%s", textutil.CountOf(n.Executions, "execution"), notTraces(n),
			textutil.CountOf(n.Transitions, "transition"), n.Elapsed.Round(time.Millisecond), rate(n))
		// Without peers there is no I/O cache to speak of. What the peers were asked is a part of
		// the work, and said without a flag.
		if run.Assumptions.Scope != "" || n.CacheHits+n.CacheMisses > 0 {
			printPeers(p, n)
		}
		if run.Verdict == report.Violated {
			for _, line := range run.Details[:min(len(run.Details), printer.MaxListed)] {
				p.Print("  " + words.Printable(line))
			}
		}
		if shrunk != nil {
			p.Print("  " + shrunk.String())
		}
		if n.SelfChecked > 0 && p.Options.Verbose {
			p.Printf("  %s run again in place and in another process, event by event the same",
				textutil.CountOf(n.SelfChecked, "execution"))
		}
		if run.Verdict == report.Violated && run.Reason != "" {
			p.Print("  " + words.Printable(run.Reason))
		}
	}
	printAssumptions(p, run.Assumptions)
}

// notTraces says which executions do not count as traces of their own. A trace is a class of
// executions that differ only in the order of independent transitions. What was redundant or cut
// off was run, but does not stand for a class; nor does what a portfolio has run beside its
// systematic search.
func notTraces(n report.Counts) string {
	var list []string
	if n.Redundant > 0 {
		list = append(list, textutil.Count(n.Redundant)+" redundant")
	}
	traces := n.Executions - n.Redundant - n.Limited
	if aside := n.Aimed + n.Sampled; aside > 0 {
		traces = n.Systematic - n.Redundant - n.CutOff
		list = append(list, textutil.Count(aside)+" aimed or sampled")
	}
	if n.Limited > 0 {
		list = append(list, textutil.Count(n.Limited)+" cut off")
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s; %s)", textutil.CountOf(traces, "trace"), strings.Join(list, ", "))
}

// rate is left out where the search was too short for it to mean something. It counts redundant
// executions, too, since they take as long.
func rate(n report.Counts) string {
	if n.Elapsed < 100*time.Millisecond {
		return ""
	}
	return fmt.Sprintf(" (%s executions/s)", textutil.Count(int(float64(n.Executions)/n.Elapsed.Seconds())))
}

// printPeers says what the peers were asked, and what it took to take them back. What went wrong
// comes last, each with what is known of the reason, or with what to do about it.
func printPeers(p *printer.Printer, n report.Counts) {
	p.Printf("  %s to the peers: %s answered by the I/O cache, %s by the peers",
		textutil.CountOf(n.CacheHits+n.CacheMisses, "input"), textutil.Count(n.CacheHits),
		textutil.Count(n.CacheMisses))
	if n.ReadInputs > 0 && p.Options.Verbose {
		p.Printf("  after %s the peers had read the time or random numbers: %s",
			textutil.CountOf(n.ReadInputs, "input"), words.Printable(n.Reads))
	}
	for _, process := range n.Uninstrumented[:min(len(n.Uninstrumented), printer.MaxListed)] {
		p.Printf("  it is not known what %s has read of the time and random numbers",
			words.Printable(process))
	}
	p.Printf("  %s%s, %s, %s replayed", textutil.CountOf(n.Checkpoints, "checkpoint"), backends(n),
		textutil.CountOf(n.Restores, "restore"), textutil.CountOf(n.Replayed, "input"))
	// How the peers were watched, and what that took.
	if n.Cuts > 0 && p.Options.Verbose {
		p.Printf("  waited %s until the peers were quiescent: %s by %s, %v each",
			textutil.CountOf(n.Waits, "time"), textutil.CountOf(n.Cuts, "look"), n.Quiescence,
			(n.CutTime / time.Duration(n.Cuts)).Round(time.Microsecond))
	}
	if n.Unstored > 0 {
		p.Printf("  %s could not be stored, the first since %s",
			textutil.CountOf(n.Unstored, "more checkpoint"),
			why(n.WhyUnstored, p.Options))
	}
	if n.MadeRoom > 0 {
		p.Printf("  %s made room for others: give them more than %d MiB with --checkpoint-mib",
			textutil.CountOf(n.MadeRoom, "checkpoint"), n.Room>>20)
	}
	if n.Skipped > 0 {
		p.Printf("  no checkpoint was taken %s, where one was due: %s", textutil.CountOf(n.Skipped, "time"),
			why(n.WhySkipped, p.Options))
	}
	if n.Disturbed > 0 {
		p.Printf("  %s given again, since a timer of the peers had ended too early by the machine's clock",
			textutil.CountOf(n.Disturbed, "input"))
	}
	if n.Killed > 0 {
		p.Printf(
			"  the peers were lost %s, as if they, their proxy or CRIU had been killed, and brought back",
			textutil.CountOf(n.Killed, "time"))
		if n.WhyKilled != "" {
			p.Printf("    the first time: %s", why(n.WhyKilled, p.Options))
		} else {
			p.Print("    is there enough memory?")
		}
	}
	if n.Refusal != "" && p.Options.Verbose {
		p.Printf("  not all checkpoints are kept in memory: %s", words.Printable(n.Refusal))
	}
}

// why is an error as a reason. What follows its first line is for those who look into Tandem.
func why(text string, o report.Options) string {
	first, more, _ := strings.Cut(text, "\n")
	switch {
	case more == "":
		return words.Printable(first)
	case o.Verbose:
		return words.PrintableText(strings.ReplaceAll(text, "\n", "\n      "))
	}
	return words.Printable(first) + " (--verbose says more)"
}

// backends says what took the checkpoints. It begins with a blank, and is empty where there are no
// checkpoints.
func backends(n report.Counts) string {
	switch n.InMemory {
	case n.Checkpoints:
		if n.Checkpoints == 0 {
			return ""
		}
		return " in memory"
	case 0:
		return " by CRIU"
	}
	return fmt.Sprintf(" (%s in memory, %s by CRIU)", textutil.Count(n.InMemory),
		textutil.Count(n.Checkpoints-n.InMemory))
}

// printAssumptions says what else a verdict rests on, so that nobody takes it for more than it is.
// Lists are cut at MaxListed. The heading is left out where nothing is assumed.
func printAssumptions(p *printer.Printer, a report.Assumptions) {
	if a.Strategy == "" && a.Scope == "" && a.Backend == "" && len(a.Preemptible) == 0 && len(a.Other) == 0 {
		return
	}
	p.Heading("Assumed")
	if a.Strategy != "" && p.Options.Verbose {
		p.Printf("  checkpoint strategy: %s", words.Printable(a.Strategy))
	}
	if a.Backend != "" && p.Options.Verbose {
		p.Printf("  backend of the checkpoints: %s", words.Printable(a.Backend))
	}
	if a.Scope != "" {
		p.Printf("  scope of the I/O cache: %s", words.Printable(a.Scope))
	}
	if len(a.Preemptible) > 0 {
		p.Print("  goroutines are preempted in the packages below; elsewhere they switch only where they " +
			"block")
	}
	groups := grouped(a.Preemptible)
	for i, group := range groups {
		if i == printer.MaxListed {
			p.Printf("    and %s more", textutil.Count(len(groups)-printer.MaxListed))
			break
		}
		p.Print("    " + words.Printable(group))
	}
	for _, other := range a.Other[:min(len(a.Other), printer.MaxListed)] {
		p.Print("  " + words.Printable(other))
	}
}

// fewPackages are listed one by one.
const fewPackages = 3

// grouped replaces packages, where there are many, by the one that they are below. That is done
// where more than fewPackages are below it, and it is among the packages itself. The others are
// listed one by one. All keep their order.
func grouped(packages []string) (list []string) {
	below := map[string]int{}
	for _, name := range packages {
		// A name without a slash is below ".", one that begins with a slash below "/": neither is a
		// package.
		for above := path.Dir(name); above != "." && above != "/"; above = path.Dir(above) {
			below[above]++
		}
	}
	isListed := func(name string) bool { return below[name] > fewPackages && slices.Contains(packages, name) }
	for _, name := range packages {
		above := path.Dir(name)
		for above != "." && above != "/" && !isListed(above) {
			above = path.Dir(above)
		}
		switch {
		// The package above says it already.
		case isListed(above):
		case isListed(name):
			list = append(list, fmt.Sprintf("%s, and %s below it", name,
				textutil.CountOf(below[name], "package")))
		default:
			list = append(list, name)
		}
	}
	return list
}
