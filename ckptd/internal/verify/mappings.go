package verify

import (
	"fmt"
	"strings"
)

// Where one mapping ends and the next, just like it, begins is the kernel's business: a program
// cannot tell. After a restore it may be another place.

// JoinMappings makes one line of those for mappings that continue each other. It needs them in
// their order. The kernel may keep two apart, or not, that differ in nothing that a program could
// tell. Lines about other things stay as they are.
func JoinMappings(state []string) (joined []string) {
	var last visibleMapping
	for _, line := range state {
		m, ok := parseVisible(line)
		if ok && m.before == last.before && m.after == last.after && m.from == last.to &&
			m.offset == last.offset+last.to-last.from {
			last.to = m.to
			joined[len(joined)-1] = last.String()
			continue
		}
		if last = m; ok {
			line = m.String()
		}
		joined = append(joined, line)
	}
	return joined
}

// visibleMapping is a line about a mapping of a file, or of memory without a name: what comes
// before and after its numbers. Two that continue each other differ in the numbers only.
type visibleMapping struct {
	before, after    string
	from, to, offset uint64
}

// String is the line again, with the numbers that there are now.
func (m visibleMapping) String() string {
	return fmt.Sprintf("%s%x-%x %x%s", m.before, m.from, m.to, m.offset, m.after)
}

// parseVisible reads lines such as "process 100: mapping 1000-2000 r--p 00003000 fe:00 77 /lib/x".
// Offsets of memory without a file mean nothing, so its address takes their place.
func parseVisible(line string) (m visibleMapping, ok bool) {
	const mark = ": mapping "
	at := strings.Index(line, mark)
	f := strings.Fields(line[max(at, 0):])
	if at < 0 || len(f) < 7 {
		return m, false
	}
	m.before, m.after = line[:at+len(mark)], fmt.Sprint(" ", f[3], f[5:])
	_, err := fmt.Sscanf(f[2]+" "+f[4], "%x-%x %x", &m.from, &m.to, &m.offset)
	if len(f) == 7 || f[7] == "[heap]" { // of which a part is as good as the whole
		m.after, m.offset = fmt.Sprint(" ", f[3], " anonymous"), m.from
	} else if !strings.HasPrefix(f[7], "/") {
		return m, false
	}
	return m, err == nil
}
