package toolchain

import (
	"bytes"
	"fmt"
	"strings"
)

// compiled is what a go command writes to its standard error: the names of packages, which it
// compiles, and what is wrong with the program. It tells how many packages there were.
type compiled struct {
	packages map[string]bool // by import path
	standard map[string]bool // those of them that the checker patches, or may
	progress func(compiled, all int)
	done     int
	line     []byte // the last one, which has no end yet
	messages bytes.Buffer
}

// newCompiled makes one for a program that is made of packages. Progress may be nil.
func newCompiled(packages []listedPackage, progress func(compiled, all int)) *compiled {
	c := &compiled{packages: map[string]bool{}, standard: map[string]bool{}, progress: progress}
	for _, p := range packages {
		c.packages[p.ImportPath] = true
		if p.Standard {
			c.standard[p.ImportPath] = true
		}
	}
	return c
}

// Write takes what the command writes. There is no error.
func (c *compiled) Write(text []byte) (int, error) {
	c.line = append(c.line, text...)
	for {
		end := bytes.IndexByte(c.line, '\n')
		if end < 0 {
			return len(text), nil
		}
		c.take(string(c.line[:end]))
		c.line = c.line[end+1:]
	}
}

// take takes a line. The name of a package is alone in its line.
func (c *compiled) take(line string) {
	if c.progress == nil || !c.packages[line] {
		c.messages.WriteString(line + "\n")
		return
	}
	c.done++
	c.progress(c.done, len(c.packages))
}

// addTo adds the messages to the error of the command, which has ended. What is wrong is the user's
// to fix, but not in the standard library, which the checker has patched.
func (c *compiled) addTo(err error) error {
	said := strings.TrimSpace(c.messages.String() + string(c.line))
	switch {
	case said == "":
		return err
	case strings.Contains(said, "signal: killed"):
		return fmt.Errorf("%w; the compiler or the linker was killed, so see that there is enough "+
			"memory:\n%s", err, said)
	case c.isStandard(said):
		return fmt.Errorf("%w:\n%s", err, said)
	}
	return fmt.Errorf("%w; fix what is wrong there:\n%s", err, said)
}

// isStandard reports whether messages are of packages of the standard library only. A line with the
// name of the package is above those of each.
func (c *compiled) isStandard(said string) (some bool) {
	for line := range strings.Lines(said) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			if some = c.standard[name]; !some {
				return false
			}
		}
	}
	return some
}
