// Package status writes the status page of a shared checkpoint daemon.
package status

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// shownImages is how many images of a group the status page has: the youngest.
const shownImages = 8

// Write writes what a shared daemon has: its clients, their groups of peers, and the images of
// these. Now is what ages are told from. The error is the writer's. The text has columns of
// variable width, made for a terminal.
func Write(out io.Writer, s ckptd.SharedStatus, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "process %d listens at %s, for %s: %d of %d clients\n",
		s.PID, s.Socket, age(now, s.Since), len(s.Clients), s.MaxClients)
	for _, c := range s.Clients {
		// Of all groups of the client together, since the limit is for these.
		images := 0
		for _, g := range c.Groups {
			images += len(g.Images)
		}
		fmt.Fprintf(w, "\nclient %d of user %d, for %s: %s of %s in %d of %d images; "+
			"its daemon takes %s and %d descriptors\n",
			c.PID, c.UID, age(now, c.Since), sizeOf(c.Bytes), sizeOf(c.MaxBytes), images, c.MaxImages,
			sizeOf(c.Resident), c.Descriptors)
		for _, g := range c.Groups {
			writeGroup(w, g, now)
		}
	}
	return w.Flush()
}

// writeGroup writes what there is of one group of peers. States and refusals may name things of the
// peers. So they are written without control characters. Of many images only the youngest are
// shown, since those are the ones that a search goes back to.
func writeGroup(w io.Writer, g ckptd.GroupStatus, now time.Time) {
	fmt.Fprintf(w, "  group %d, %s: %s\n", g.ID, strings.Join(g.Peers, ", "), words.Line(g.State))
	fmt.Fprintf(w, "    checkpoints: %d, mean %v; restores: %d, mean %v\n",
		g.Checkpoints.Count, g.Checkpoints.Mean().Round(time.Microsecond),
		g.Restores.Count, g.Restores.Mean().Round(time.Microsecond))
	if g.Refusal != "" {
		fmt.Fprintf(w, "    not saved in memory: %s\n", words.Line(g.Refusal))
	}
	if len(g.Images) == 0 {
		return
	}
	fmt.Fprintln(w, "    image\tparent\tsteps\tbackend\tsize\tage\trestored")
	older := max(0, len(g.Images)-shownImages)
	for _, i := range g.Images[older:] {
		fmt.Fprintf(w, "    %s\t%s\t%d\t%s\t%s\t%s\t%d\n",
			i.ID, i.Parent, i.Steps, i.Backend, sizeOf(i.Bytes), age(now, i.Taken), i.Uses)
	}
	if older > 0 {
		fmt.Fprintf(w, "    and %d older ones\n", older)
	}
}

// age is how long ago something was, in whole seconds.
func age(now, since time.Time) time.Duration { return now.Sub(since).Round(time.Second) }

// sizeOf is a number of bytes for people.
func sizeOf(bytes int64) string { return textutil.Bytes(float64(bytes)) }
