package image

import (
	"fmt"
	"strconv"
	"strings"
)

// LookUp finds the numbers of a user and a group in the lists of an image, /etc/passwd and
// /etc/group. Both are names or numbers. Without a user it is root; without a group it is that of
// the user, which for a number that is not in the list is root.
func (t Tree) LookUp(user, group string) (uid, gid uint32, home string, err error) {
	root, err := openTree(t.Directory)
	if err != nil {
		return 0, 0, "", err
	}
	defer root.Close()
	if user != "" {
		// A number may be the name of a user, too; the first line that fits counts.
		uid, isNumber := number(user)
		fields := entry(root, "passwd", func(f []string) bool {
			n, ok := number(f[2])
			return len(f) >= 6 && ok && (f[0] == user || isNumber && n == uid)
		})
		switch {
		case fields != nil:
			uid, _ = number(fields[2])
			gid, _ = number(fields[3])
			home = fields[5]
		case !isNumber:
			return 0, 0, "", fmt.Errorf("the image has no user %.64q (see its /etc/passwd): name one "+
				"that it has, "+
				"or a number", user)
		// Engines run it there, too.
		default:
			home = "/"
		}
		if group == "" {
			return uid, gid, home, nil
		}
		return withGroup(root, uid, group, home)
	}
	return withGroup(root, 0, group, "/root")
}

// withGroup is LookUp where the user is known.
func withGroup(root *tree, uid uint32, group, home string) (uint32, uint32, string, error) {
	if group == "" {
		return uid, 0, home, nil
	}
	// Any number is a group, whether the list has it or not.
	if gid, ok := number(group); ok {
		return uid, gid, home, nil
	}
	fields := entry(root, "group", func(f []string) bool {
		_, ok := number(f[2])
		return ok && f[0] == group
	})
	if fields == nil {
		return 0, 0, "", fmt.Errorf("the image has no group %.64q (see its /etc/group): name one that it "+
			"has, or "+
			"a number", group)
	}
	gid, _ := number(fields[2])
	return uid, gid, home, nil
}

// entry finds a line of a list, as its fields; nil if there is none.
func entry(root *tree, list string, fits func(fields []string) bool) []string {
	// An image need not have the lists, for instance one of a single static program.
	text, err := root.read(list)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// Lines that are damaged are passed over, as the C library does.
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) >= 3 && fits(fields) {
			return fields
		}
	}
	return nil
}

// number reads the number of a user or a group. The greatest one stands for none.
func number(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n != 1<<32-1
}
