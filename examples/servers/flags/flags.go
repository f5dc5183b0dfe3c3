// Package flags has what the programs have in common.
package flags

import "flag"

// Fixed reports whether the program is to run without its bug: it is given -fixed.
func Fixed() bool {
	fixed := flag.Bool("fixed", false, "without the bug")
	flag.Parse()
	return *fixed
}
