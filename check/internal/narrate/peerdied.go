package narrate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/report"
)

// lastWords are lines that programs print when they end because of a fault of their own.
var lastWords = regexp.MustCompile(`(?i)failed assertion|assertion .*failed|^panic: |^fatal error: |` +
	`segmentation fault|addresssanitizer|core dumped`)

// PeerDied says which peer has died in an execution, and of what. It is empty if none has.
func PeerDied(exchanges []driver.Exchange) string {
	c, n := report.Counterexample{}, networks{}
	for i, x := range exchanges {
		c.Steps = append(c.Steps, report.Step{IO: n.messages(x)})
		for _, w := range x.Wrote {
			c.Outputs = append(c.Outputs, report.Output{
				Step: i, Wrote: report.Wrote{Peer: w.Peer, Text: []byte(w.Text)}})
		}
	}
	return peerDied(&c)
}

// peerDied says which peer has died, and of what: one that was killed by a signal, or one that has
// said so in a step in which a connection ended.
func peerDied(c *report.Counterexample) (text string) {
	said := func(peer string, step int) string {
		words := ""
		for _, o := range c.Outputs {
			if o.Peer != peer || o.Step > step || o.Peer == "" {
				continue
			}
			for line := range strings.Lines(string(o.Text)) {
				if lastWords.MatchString(strings.TrimSpace(line)) {
					words = strings.TrimSpace(line)
				}
			}
		}
		return words
	}
	// The last one that died is named: what follows it is the failure.
	for i, s := range c.Steps {
		for _, m := range s.IO {
			if m.ToPeer || m.Event == "" {
				continue
			}
			// A peer that Tandem started is known to have been killed. Of a process that the peer
			// has started, such as the one that serves a connection, its last words tell.
			if m.About != "" && strings.HasPrefix(m.Event, killed) {
				text = died(m.About, said(m.About, i), m.Event)
			}
			if m.About != "" || m.Event != "end of stream" && m.Event != "reset" {
				continue
			}
			for _, o := range c.Outputs {
				if words := said(o.Peer, i); o.Step == i && words != "" {
					text = died(o.Peer, words, "")
				}
			}
		}
	}
	return text
}

// killed is what the end of a peer begins with that a signal has ended.
var killed, _, _ = strings.Cut(peers.Outcome(9), " 9")

// died says that a peer has died, with its last words, or how it ended. What precedes the words in
// their line, such as the time, is left out.
func died(peer, words, event string) string {
	if words == "" {
		return fmt.Sprintf("%s died: it %s", peer, event)
	}
	// Servers begin their lines with the time and their process.
	if at := lastWords.FindStringIndex(words); at != nil {
		words = words[at[0]:]
	}
	return fmt.Sprintf("%s died: %s", peer, words)
}
