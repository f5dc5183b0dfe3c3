package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// step is one thing that a reader of a document does: type a command, write a file, or change one.
type step struct {
	// line is that of the document, counted from 1, where the step begins.
	line int
	// command is a line for the shell; empty for a file. Output is what it prints, and typed what
	// it is told meanwhile.
	command string
	output  []string
	typed   []string
	// tries is how often the command is typed, at most, until it prints what is shown.
	tries int
	// file is the name of a file to be written, or changed, and text its contents, or the change.
	file, text string
	change     bool
}

var (
	// fence begins or ends a block of code.
	fence = regexp.MustCompile("^```([a-z]*)$")
	// caption is the end of a paragraph that names the file in the block below it.
	caption = regexp.MustCompile("`([^` ]+)`:$")
	// almost is a caption in which the name is not at the end. A writer who forgets that would have
	// a document in which the file is not written.
	almost = regexp.MustCompile("`[^` ]+\\.(go|yaml|mod)`[^`]+:$")
	// prompt is what a program asks for the next line with: the debugger, and a question.
	prompt = regexp.MustCompile(`\(dlv\) |\[Y/n\] `)
	// retry stands before a block of commands. Readers do not see it.
	retry = regexp.MustCompile("^<!-- tried up to ([2-9]) times: .+ -->$")
)

// parse lists the steps of a document in Markdown. Blocks of the language console have commands,
// each behind a dollar and a space, with what they print below them. A block of another language
// is a file if the line before it ends with a file's name and a colon; one of the language diff
// changes that file. All other text is for the reader alone.
//
// What a command prints may be decided by chance: a program with a race is run without Tandem. Then
// a comment stands before the block, "<!-- tried up to 3 times: WHY -->".
func parse(text string) (steps []step, err error) {
	lines := strings.Split(text, "\n")
	// A caption holds for the next block only, and only if nothing stands between them.
	named, tries := "", 1 // by the last line that was not empty
	for i := 0; i < len(lines); i++ {
		begin := fence.FindStringSubmatch(lines[i])
		if begin == nil {
			if match := caption.FindStringSubmatch(lines[i]); match != nil {
				named = match[1]
			} else if match := retry.FindStringSubmatch(lines[i]); match != nil {
				tries = int(match[1][0] - '0')
			} else if lines[i] != "" {
				named, tries = "", 1
			}
			continue
		}
		first := i + 1
		for i = first; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", first)
		}
		block := lines[first:i]
		// A block without a caption shows something, and asks for nothing.
		switch language := begin[1]; {
		case language == "console":
			commands, err := parseCommands(block, first+1)
			if err != nil {
				return nil, err
			}
			for i := range commands {
				commands[i].tries = tries
			}
			steps = append(steps, commands...)
		case named == "" && first > 2 && almost.MatchString(lines[first-3]):
			return nil, fmt.Errorf("line %d: the name of the file must be the last word", first-2)
		case named != "":
			if !filepath.IsLocal(named) {
				return nil, fmt.Errorf("line %d: %s is not below the directory", first, named)
			}
			steps = append(steps, step{line: first, file: named, change: language == "diff",
				text: strings.Join(block, "\n") + "\n"})
		}
		named, tries = "", 1
	}
	return steps, nil
}

// parseCommands takes a block apart. A command goes on in the next line where it ends with a
// backslash. What stands behind a prompt is typed, and no output. Line is the number of the first
// line.
func parseCommands(block []string, line int) (steps []step, err error) {
	for i := 0; i < len(block); i++ {
		command, isCommand := strings.CutPrefix(block[i], "$ ")
		if !isCommand && len(steps) == 0 {
			return nil, fmt.Errorf("line %d: a block of commands begins with output", line+i)
		}
		if !isCommand {
			last := &steps[len(steps)-1]
			if asked := prompt.FindStringIndex(block[i]); asked != nil {
				last.typed = append(last.typed, block[i][asked[1]:])
			} else {
				last.output = append(last.output, block[i])
			}
			continue
		}
		s := step{line: line + i, command: command}
		for strings.HasSuffix(s.command, `\`) && i+1 < len(block) {
			i++
			s.command += "\n" + block[i]
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// applyChange changes the text of a file as a block of the language diff says. A line that begins
// with a blank or a minus must be there, in this order and without others in between; lines with a
// minus go, and lines with a plus come. Several places are separated by a line with two at signs.
// Each place must be found exactly once.
func applyChange(text, change string) (string, error) {
	for place := range strings.SplitSeq("\n"+change, "\n@@\n") {
		var before, after strings.Builder
		for _, line := range strings.Split(strings.Trim(place, "\n"), "\n") {
			kind, rest := " ", ""
			// Editors cut the blank off that an empty line begins with.
			if line != "" {
				kind, rest = line[:1], line[1:]
			}
			if !strings.Contains(" +-", kind) {
				return "", fmt.Errorf("a line begins neither with a blank, plus nor minus: %q", line)
			}
			if kind != "+" {
				before.WriteString(rest + "\n")
			}
			if kind != "-" {
				after.WriteString(rest + "\n")
			}
		}
		// The places are whole lines, so a line end comes before each.
		whole := "\n" + text
		if n := strings.Count(whole, "\n"+before.String()); n != 1 {
			return "", fmt.Errorf("found %d times instead of once:\n%s", n, before.String())
		}
		text = strings.Replace(whole, "\n"+before.String(), "\n"+after.String(), 1)[1:]
	}
	return text, nil
}
