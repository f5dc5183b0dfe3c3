package procfs

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// Idle is for how long each processor has had nothing to do since the machine started, by its
// number. The kernel counts in hundredths of a second. A processor that is switched off is not
// there.
func Idle() (map[int]time.Duration, error) {
	const room = 1 << 13 // a line for each processor, and a long one of interrupts
	stat, err := ReadSized("/proc/stat", room)
	if err != nil {
		return nil, err
	}
	return parseIdle(stat)
}

// parseIdle takes the time of /proc/stat in which a processor waited for a disk for idle, too: it
// could have done something else.
func parseIdle(stat []byte) (map[int]time.Duration, error) {
	const tick = time.Second / 100
	idle := map[int]time.Duration{}
	for line := range bytes.Lines(stat) {
		name, found := bytes.CutPrefix(line, []byte("cpu"))
		if !found || len(name) == 0 || name[0] < '0' || name[0] > '9' {
			continue // the sum of all, or something else
		}
		fields := bytes.Fields(name) // number, user, nice, system, idle, waiting for a disk, ...
		if len(fields) < 6 {
			return nil, fmt.Errorf("parse /proc/stat: %q is no line of a processor", line)
		}
		var n [3]int
		for i, field := range [][]byte{fields[0], fields[4], fields[5]} {
			var err error
			if n[i], err = strconv.Atoi(string(field)); err != nil {
				return nil, fmt.Errorf("parse /proc/stat: %w", err)
			}
		}
		idle[n[0]] = time.Duration(n[1]+n[2]) * tick
	}
	return idle, nil
}
