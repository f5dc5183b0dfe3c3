package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/fingerprint"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
)

// keptPeers is what the answers in a kept cache depend on besides the requests. It is kept, too.
type keptPeers struct {
	Peers    map[string]string `json:"peers"`    // as they are configured
	Programs map[string]string `json:"programs"` // see fingerprint.Files
	Date     string            `json:"date"`     // when the clocks start
}

func describePeers(config configs.Config) (*keptPeers, error) {
	d := &keptPeers{Programs: fingerprint.Files(config.Group)}
	var err error
	if d.Peers, err = fingerprint.Values(struct{ Group *peers.Group }{config.Group}); err != nil {
		return nil, err
	}
	d.Date = config.Date.Format(time.RFC3339)
	d.Peers["peer_patience"] = config.PeerPatience.String()
	return d, nil
}

// same is an error that names what was different when the answers of a kept cache were given.
func (d *keptPeers) same(description string) error {
	was := &keptPeers{}
	if err := json.Unmarshal([]byte(description), was); err != nil || was.Programs == nil {
		return errors.New("its description is not that of peers, so it is no cache that was kept (--cache)")
	}
	lines := fingerprint.Differences(was.Peers, d.Peers)
	if was.Date != d.Date {
		lines = append(lines, fingerprint.Difference("date", was.Date, d.Date))
	}
	if lines = append(lines, fingerprint.Changed(was.Programs, d.Programs)...); len(lines) == 0 {
		return nil
	}
	const shown = 10
	if more := len(lines) - shown; more > 0 {
		lines = append(lines[:shown], fmt.Sprintf("... and %d more", more))
	}
	return fmt.Errorf("it has the answers of other peers than these:\n  %s\n"+
		"Put that back, or name another file",
		strings.Join(lines, "\n  "))
}

// openKept opens the cache that is kept; nil if there is none.
func (r Request) openKept(masks []iocache.Mask, say func(format string, a ...any)) (*saved.AnswerFile,
	error) {
	file, config := r.Cache, r.Config
	switch {
	case file == "":
		return nil, nil
	case config.Group == nil:
		return nil, errors.New("--cache keeps the answers of peers, and none are configured: " +
			"name them under peers: in the configuration")
	}
	d, err := describePeers(config)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	failed := func(err error) { say("%v; the check goes on", err) }
	return saved.OpenAnswerFile(file, string(text), masks, d.same, failed)
}
