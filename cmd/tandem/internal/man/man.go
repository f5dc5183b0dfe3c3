// Package man writes the help texts of commands as pages for man(1), with the same groups of flags.
// The language of the pages is that of man(7).
package man

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a group of flags, as the help shows it.
type Section struct {
	Title string // without a colon
	Flags *pflag.FlagSet
}

// Info is what all pages have in common.
type Info struct {
	// Version is shown at the foot of each page, after the name of the program.
	Version string
	Date    time.Time // of the version
	// Sections are the groups of flags of a command, in their order.
	Sections func(*cobra.Command) []Section
}

// Pages are the pages of a command and of all that are below it, by the names of their files.
// Hidden commands have none. The same commands and information give the same pages.
func Pages(c *cobra.Command, info Info) map[string]string {
	pages := map[string]string{name(c) + ".1": page(c, info)}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			for file, text := range Pages(below, info) {
				pages[file] = text
			}
		}
	}
	return pages
}

// name is that of a page, such as tandem-check.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the page of one command.
func page(c *cobra.Command, info Info) string {
	// Texts of people are escaped one line at a time, since a request is a line.
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line(`.TH "%s" "1" "%s" "tandem %s" "Tandem"`, escape(strings.ToUpper(name(c))),
		info.Date.UTC().Format("2006-01-02"), escape(info.Version))
	line(".SH NAME\n%s \\- %s", escape(name(c)), escape(c.Short))
	line(".SH SYNOPSIS")
	if c.Runnable() {
		line(".B %s", escape(c.UseLine()))
	}
	if c.HasAvailableSubCommands() {
		line(".br\n.B %s COMMAND", escape(c.CommandPath()))
	}
	line(".SH DESCRIPTION")
	for _, text := range strings.Split(c.Long, "\n") {
		switch {
		case text == "":
			line(".PP")
		case strings.HasPrefix(text, "  "): // an example in the text
			line(".br\n%s\n.br", escape(text))
		default:
			line("%s", escape(text))
		}
	}
	if c.HasAvailableSubCommands() {
		line(".SH COMMANDS")
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				line(".TP\n.B %s\n%s", escape(below.Name()), escape(below.Short))
			}
		}
	}
	// The titles of groups are those of the help, so that both can be compared.
	line(".SH OPTIONS")
	for _, s := range info.Sections(c) {
		line(".SS %s", escape(s.Title))
		s.Flags.VisitAll(func(flag *pflag.Flag) { line("%s", option(flag)) })
	}
	if c.HasExample() {
		// Lines of examples stay as they are, with their indentation.
		line(".SH EXAMPLES\n.nf")
		for text := range strings.Lines(c.Example) {
			line("%s", escape(strings.TrimRight(text, "\n")))
		}
		line(".fi")
	}
	line("%s", seeAlso(c))
	return b.String()
}

// option is the entry of a flag: its forms in bold, and what it is for. Defaults that stand for
// nothing are left out, as in the help.
func option(flag *pflag.Flag) string {
	// Backquotes mark the name of the value in the text, as for the help.
	value, usage := pflag.UnquoteUsage(flag)
	forms := "--" + flag.Name
	if flag.Shorthand != "" {
		forms = "-" + flag.Shorthand + ", " + forms
	}
	if value != "" {
		forms += " " + value
	}
	// The help of a flag names the default itself, unless the flag has one.
	if d := flag.DefValue; d != "" && d != "0" && d != "0s" && d != "false" && d != "[]" {
		usage += " (default " + d + ")"
	}
	return ".TP\n.B " + escape(forms) + "\n" + escape(usage)
}

// seeAlso names the pages next to one: that of the command above, and those below. The page of a
// command alone has none, and an empty section, which is no fault of man(7).
func seeAlso(c *cobra.Command) string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, fmt.Sprintf(`.BR %s (1)`, escape(name(c.Parent()))))
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			pages = append(pages, fmt.Sprintf(`.BR %s (1)`, escape(name(below))))
		}
	}
	return ".SH SEE ALSO\n" + strings.Join(pages, ",\n")
}

// escape takes the meaning from what man(7) has a meaning for: backslashes, hyphens that would
// become typographic ones and could not be copied, and a dot or a quote that begins a line.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "`", "\\`").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
