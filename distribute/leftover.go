package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// A server has room for one search. Whoever begins another one removes what an interrupted one has
// left. That may have taken days, so it is said, and why the search does not go on.

// introduction is what a search says of itself, for those that come later.
type introduction struct {
	Package string `json:"package"`
	Program string `json:"program"` // its hash
}

// introductions are subjects of the form tandem.shares.KEY.about.
const introductions = ".about"

// introduce says what this search is.
func (s *Shares) introduce() error {
	data, err := json.Marshal(introduction{s.run.Package, s.run.Program})
	if err == nil {
		_, err = s.js.Publish(s.ctx, sharesSubject+s.run.Key+introductions, data)
	}
	return err
}

// announce says which searches are about to be removed, unless they had not begun.
func (s *Shares) announce(stream jetstream.Stream) error {
	info, err := stream.Info(s.ctx, jetstream.WithSubjectFilter(sharesSubject+">"))
	if err != nil {
		return err
	}
	keys := map[string]bool{}
	for subject := range info.State.Subjects {
		key, what, _ := strings.Cut(strings.TrimPrefix(subject, sharesSubject), ".")
		keys[key] = keys[key] || what == "levels" || what == "ends"
	}
	for key, hasBegun := range keys {
		if !hasBegun {
			continue
		}
		other, err := s.introductionOf(s.ctx, stream, key)
		if err != nil {
			return err
		}
		s.say("removing the interrupted search of %s at the server: its %s", other.Package,
			s.difference(other))
	}
	return nil
}

// introductionOf is what the search with a key says of itself. Those of earlier versions say
// nothing.
func (s *Shares) introductionOf(ctx context.Context, stream jetstream.Stream, key string) (
	other introduction, err error) {
	other.Package = "an earlier version"
	m, err := stream.GetLastMsgForSubject(ctx, sharesSubject+key+introductions)
	if err == nil {
		err = json.Unmarshal(m.Data, &other)
	} else if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return other, err
}

// difference is why this search does not go on with another one.
func (s *Shares) difference(other introduction) string {
	if other.Program != s.run.Program {
		return "program is another one, of other sources or of another package"
	}
	return "arguments, parts or partition are others"
}
