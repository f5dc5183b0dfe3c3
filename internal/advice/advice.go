// Package advice finds the advice in a message: the part that says what its reader can do. Messages
// say what is wrong, where, and what to do, as in "--shrink x: give a number of executions". So
// advice is a clause that begins with a verb, or with a command or a flag and what it does.
//
// Messages whose sources have no advice for them get a general one: see General.
package advice

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// verbs begin a clause that is advice.
var verbs = []string{
	"add", "ask", "build", "change", "check", "choose", "commit", "copy", "delete", "end", "fix",
	"free", "give", "have", "install", "keep", "leave", "let", "look", "make", "mount", "move", "name",
	"open", "pass", "pick", "put", "raise", "remove", "rename", "repeat", "replace", "report", "restart",
	"run", "say", "see", "set", "shorten", "start", "stop", "take", "try", "unset", "update", "use",
	"wait", "write",
}

// In returns the clauses of a message that are advice, in their order; "" if there are none. What
// ends at a colon was tried when the rest went wrong, as in "start the peers: no such file". It is
// no advice.
func In(message string) string {
	var found []string
	for _, clause := range clauses(message) {
		if text, tried := strings.CutSuffix(clause, ":"); !tried && isAdvice(text) {
			found = append(found, text)
		}
	}
	return strings.Join(found, "; ")
}

// clauses are the parts of a message. They end with a line, or at marks that are followed by a
// blank, so that addresses and names of files stay whole. Those that end at a colon keep it.
func clauses(message string) (list []string) {
	for line := range strings.Lines(message) {
		list = append(list, clausesOfLine(line)...)
	}
	return list
}

func clausesOfLine(line string) (list []string) {
	rest := strings.Join(strings.Fields(line), " ")
	for rest != "" {
		end, next := len(rest), len(rest)
		open := withoutParentheses(rest)
		for _, mark := range []string{": ", "; ", ". "} {
			// Three dots are a pattern of packages.
			i := strings.Index(open, mark)
			if i >= 0 && i < end && !strings.HasSuffix(rest[:i], "..") {
				end, next = i, i+len(mark)
			}
		}
		clause := strings.TrimSpace(rest[:end])
		if next == len(rest) { // a list may follow, in lines of its own
			clause = strings.TrimSuffix(clause, ":")
		} else if rest[end] == ':' {
			clause += ":"
		}
		if clause != "" {
			list = append(list, clause)
		}
		rest = rest[next:]
	}
	return list
}

// withoutParentheses is a line with letters in the place of what is in parentheses. Causes are put
// there, and their colons end no clause of the message around them. What is never closed stays.
func withoutParentheses(line string) string {
	text, opened := []byte(line), []int(nil)
	for i, b := range []byte(line) {
		switch {
		case b == '(':
			opened = append(opened, i)
		case b == ')' && len(opened) > 0:
			for j := opened[len(opened)-1] + 1; j < i; j++ {
				text[j] = 'x'
			}
			opened = opened[:len(opened)-1]
		}
	}
	return string(text)
}

// isAdvice reports whether a clause is advice: it begins with a verb, or with a command in
// backquotes, or with a flag that does something, as in "--force replaces it".
func isAdvice(clause string) bool {
	words := strings.Fields(clause)
	for len(words) > 1 && slices.Contains([]string{"or", "and", "then"}, words[0]) {
		words = words[1:]
	}
	// These begin a list, or name the document that has one.
	start := strings.ToLower(clause)
	if strings.HasPrefix(start, "what helps") || strings.HasPrefix(start, "what can be done") {
		return true
	}
	if slices.Contains(verbs, strings.ToLower(words[0])) || strings.HasPrefix(words[0], "`") {
		return true
	}
	// The third person tells it from "--time 0 is not allowed".
	return strings.HasPrefix(words[0], "--") && len(words) > 2 && strings.HasSuffix(words[1], "s") &&
		words[1] != "%s" && words[1] != "is"
}

// Inner is the advice for messages about what goes on inside: processes of Tandem, the kernel, and
// peers that do what nobody expects. The user cannot know more than the message says.
const Inner = "check again with --verbose, which says what happened before; `tandem doctor` looks at the " +
	"machine; if both are no help, report it as a fault of Tandem"

// InnerOf is Inner for a command without --verbose, which only those that run checks have.
const InnerOf = "look at the machine with `tandem doctor`; if that is no help, report it as a fault of Tandem"

// Refused is the advice for programs that do what cannot be checked, such as starting a process.
const Refused = "see docs/limits.md for what programs can do, or put that behind an interface"

// General is advice for an error whose message has none: for those of the system by what is wrong,
// and else Inner. It is "" if the message has advice.
func General(err error) string {
	// Errors of the system begin with what was tried, such as write, and that is no advice.
	message := err.Error()
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		message = strings.ReplaceAll(message, failed.Error(), "")
	}
	if failed := (*os.LinkError)(nil); errors.As(err, &failed) {
		message = strings.ReplaceAll(message, failed.Error(), "")
	}
	if In(message) != "" {
		return ""
	}
	if strings.Contains(message, "cannot be checked") {
		return Refused
	}
	for _, known := range []struct {
		errors []syscall.Errno
		advice string
	}{
		{[]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}, "make room on that disk"},
		{[]syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS},
			"run it as a user who may do that, or name a place where you may"},
		{[]syscall.Errno{syscall.ENOENT, syscall.ENOTDIR},
			"check the name, since no such file exists"},
		{[]syscall.Errno{syscall.EISDIR}, "name a file instead"},
		{[]syscall.Errno{syscall.ENOMEM}, "free memory, or take fewer --workers"},
		{[]syscall.Errno{syscall.EMFILE, syscall.ENFILE}, "raise the limit of open files (ulimit -n)"},
		{[]syscall.Errno{syscall.EPIPE}, "have what reads the output read all of it"},
	} {
		for _, errno := range known.errors {
			if errors.Is(err, errno) {
				return known.advice
			}
		}
	}
	return Inner
}
