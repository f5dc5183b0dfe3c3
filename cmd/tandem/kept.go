package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
)

// described is what the answers in a kept cache depend on beside the requests: the peers.
type described struct {
	Peers    map[string]string `json:"peers"`    // as they are configured
	Programs map[string]string `json:"programs"` // see restsOn
	Date     string            `json:"date"`     // when the clocks start
}

func describePeers(config configs.Config) (*described, error) {
	d := &described{Programs: restsOn(config.Group)}
	var err error
	if d.Peers, err = flatten(struct{ Group *peers.Group }{config.Group}); err != nil {
		return nil, err
	}
	d.Date = config.Date.Format(time.RFC3339)
	d.Peers["peer_patience"] = config.PeerPatience.String()
	return d, nil
}

// same is an error that names what was another thing when the answers of a kept cache were given.
func (d *described) same(description string) error {
	was := &described{}
	if err := json.Unmarshal([]byte(description), was); err != nil || was.Programs == nil {
		return errors.New("its description is not that of peers, so it is no cache that was kept (--cache)")
	}
	var list []string
	for _, key := range bothKeys(was.Peers, d.Peers) {
		if a, b := was.Peers[key], d.Peers[key]; a != b {
			list = append(list, fmt.Sprintf("%s: it was %s, and is %s", key, orNothing(a), orNothing(b)))
		}
	}
	if was.Date != d.Date {
		list = append(list, fmt.Sprintf("date: it was %s, and is %s", orNothing(was.Date), d.Date))
	}
	if list = append(list, changes(was.Programs, d.Programs)...); len(list) == 0 {
		return nil
	}
	const shown = 10
	if more := len(list) - shown; more > 0 {
		list = append(list[:shown], fmt.Sprintf("... and %d more", more))
	}
	return fmt.Errorf("it has the answers of other peers than these:\n  %s\nPut that back, or name another file", strings.Join(list, "\n  "))
}

// dateFor is the date of a check that begins now: that of the flag, or of the configuration. Where
// neither has one, it is that of the kept cache, since requests may depend on it, or the default.
func (f *checkFlags) dateFor(config configs.Config, now time.Time) (time.Time, error) {
	if f.date != "" {
		date, err := configs.ParseDate(f.date, now)
		if err != nil {
			err = fmt.Errorf("--date: %w", err)
		}
		return date, err
	}
	if !config.Date.IsZero() {
		return config.Date, nil
	}
	was := &described{}
	if f.cache != "" {
		text, err := check.DescriptionOf(f.cache)
		if err == nil && json.Unmarshal([]byte(text), was) == nil && was.Date != "" {
			if date, err := configs.ParseDate(was.Date, now); err == nil {
				return date, nil
			}
		} // what is wrong with the file is said when it is opened
	}
	return configs.DefaultDate(now), nil
}

// openKept opens the cache that is kept; nil if there is none.
func (f *checkFlags) openKept(config configs.Config, masks []iocache.Mask, say func(format string, a ...any)) (*check.KeptCache, error) {
	switch {
	case f.cache == "":
		return nil, nil
	case config.Group == nil:
		return nil, errors.New("--cache keeps the answers of peers, and none are configured: name them under peers: in the configuration")
	}
	d, err := describePeers(config)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return check.OpenKeptCache(f.cache, string(text), masks, d.same, func(err error) { say("%v; the check goes on", err) })
}
