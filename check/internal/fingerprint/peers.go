package fingerprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/peers"
)

// Peers is what the answers in a kept cache depend on besides the requests. It is kept, too.
type Peers struct {
	Peers    map[string]string `json:"peers"`    // as they are configured
	Programs map[string]string `json:"programs"` // see Files
	Date     string            `json:"date"`     // when the clocks start
}

// DescribePeers describes the peers of a configuration as they are now.
// The result is a snapshot: later changes of files are not seen.
func DescribePeers(config configs.Config) (*Peers, error) {
	d := &Peers{Programs: Files(config.Group)}
	var err error
	if d.Peers, err = Values(struct{ Group *peers.Group }{config.Group}); err != nil {
		return nil, err
	}
	d.Date = config.Date.Format(time.RFC3339)
	d.Peers["peer_patience"] = config.PeerPatience.String()
	return d, nil
}

// Same is an error that names what was different when the answers of a kept cache were given.
// description is the text that AnswerFile keeps, the JSON of a Peers. At most ten differences are
// named.
func (d *Peers) Same(description string) error {
	was := &Peers{}
	if err := json.Unmarshal([]byte(description), was); err != nil || was.Programs == nil {
		return errors.New("its description is not that of peers, so it is no cache that was kept: " +
			"name another file for --cache")
	}
	lines := Differences(was.Peers, d.Peers)
	if was.Date != d.Date {
		lines = append(lines, Difference("date", was.Date, d.Date))
	}
	if lines = append(lines, Changed(was.Programs, d.Programs)...); len(lines) == 0 {
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
