package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// store is a peer that keeps a number, and notes with how many connections it is asked first.
type store struct {
	number             string
	connections, first int
}

func (s *store) Exchange(in model.Input) (model.Answer, error) {
	switch in.Kind {
	case model.Connect:
		s.connections++
		return model.Answer{Conn: s.connections - 1}, nil
	case model.Send:
		if s.first == 0 {
			s.first = s.connections
		}
		if line := strings.TrimSpace(string(in.Data)); line != "get" {
			s.number = line
		}
		return model.Answer{
			Reaction: model.Reaction{
				Deliveries: []model.Delivery{{Conn: in.Conn, Data: []byte(s.number + "\n")}}}}, nil
	}
	return model.Answer{}, nil
}

// TestSealedReadsWait: a peer takes its time to accept and to answer, so others go on meanwhile,
// though all that a goroutine does with its connection is done in a sealed package.
func TestSealedReadsWait(t *testing.T) {
	p, err := buildProgram("testdata/lines", filepath.Join(tree, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{nil, []string{
			"ends with 1, asked with 1 connections", "ends with 1, asked with 2 connections",
			"ends with 2, asked with 1 connections", "ends with 2, asked with 2 connections",
		}},
		{[]string{"alone"}, []string{"ends with 2, asked with 1 connections"}},
	} {
		for _, search := range []*explore.Search{dporSearch(), bounded(explore.DFS, 2)} {
			got, peer := map[string]bool{}, (*store)(nil)
			newPeers := func() sut.Peers { peer = &store{number: "0"}; return peer }
			ended, err := eachExecutionWith(newPeers, p, sut.Options{Args: test.args}, search,
				func(log *sut.Log, x explore.Execution) bool {
					if x.Outcome != explore.Redundant {
						got[fmt.Sprintf("ends with %s, asked with %d connections", peer.number,
							peer.first)] = true
					}
					return true
				})
			if err != nil || !ended {
				t.Fatal(ended, err)
			}
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("%v by %T: %s", test.args, search, diff)
			}
		}
	}
}
