// Package scripts carries the scripts that set a machine up, for tandem doctor.
package scripts

import "embed"

// Files holds setup.sh and what it calls.
//
//go:embed *.sh
var Files embed.FS
