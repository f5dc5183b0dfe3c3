package ckptd

import (
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// compiled builds a C program of testdata.
func compiled(t testing.TB, name string) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("cc", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", "-o", program,
		"testdata/"+name+".c", "-lpthread")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return testkit.ReadFile(t, program)
}

// ownProgram is a group of a C program of testdata, which listens on port 7000.
func ownProgram(t testing.TB, name string, arguments ...string) peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{Name: name, Command: append([]string{"{scratch}/" + name}, arguments...),
			Listen: "127.0.0.1:7000"}},
		Files: []peers.File{{Path: name, Content: compiled(t, name), Mode: 0o755}},
	}
}

var ownAddress = netip.MustParseAddrPort("127.0.0.1:7000")

// TestWhatIsSharedGoesBack: memory that a fork does not copy, files without a name, locks, and
// sockets that are not TCP.
func TestWhatIsSharedGoesBack(t *testing.T) {
	for name, user := range map[string]string{"root": "", "another user": "nobody"} {
		t.Run(name, func(t *testing.T) {
			group := ownProgram(t, "unnamed")
			group.Peers[0].User = user
			wander(t, start(t, spawn(t, Options{Backend: BackendMemory}), group), 60)
		})
	}
}

// wander asks a peer, saves it and takes it back at random. What it answers must follow from how
// often it was asked.
func wander(t *testing.T, g *Group, steps int) {
	t.Helper()
	type place struct {
		image string
		round int
	}
	random := rand.New(rand.NewPCG(7, uint64(steps)))
	talk := connectTo(t, g, ownAddress)
	answers := map[int]string{}
	var saves []place
	round := 0
	for step := range steps {
		switch n := random.IntN(10); {
		case n < 5:
			round++
			got := talk.ask("change\n")
			if want, known := answers[round]; known && got != want || got == "" {
				t.Fatalf("step %d: round %d is answered by %q, and was by %q; it wrote %q", step, round, got,
					want, g.Written())
			}
			answers[round] = got
		case n < 7 || len(saves) == 0:
			if err := g.Quiesce(testContext(t), nil); err != nil {
				t.Fatal(err)
			}
			saves = append(saves, place{savedGroup(t, g), round})
		default:
			to := saves[random.IntN(len(saves))]
			if err := g.Restore(testContext(t), to.image); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			talk.obtain()
			round = to.round
		}
	}
}
