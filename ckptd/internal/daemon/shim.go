package daemon

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/proxy"
)

// The shim comes in two parts. A library, preloaded into the peers, counts what they read of the
// time and of random numbers, and answers in place of the kernel where that is wanted. A vDSO does
// so for programs that take the time without the library.

// shimFiles are the shim of the peers where groups are made: a library that is preloaded into them,
// and a vDSO. A daemon copies them once, when it is set up.
type shimFiles struct {
	vdso     *proxy.VDSO // how to map it; nil: peers run without a shim
	versions []string    // of the C library, that the preloaded library needs
}

// copyFrom copies the shim to where groups are made. Groups have links to these copies, so that the
// files of the machine may change meanwhile.
func (s *shimFiles) copyFrom(libraries shim.Libraries) (err error) {
	for to, from := range map[string]string{
		paths.ShimFile: libraries.Library, paths.VdsoFile: libraries.VDSO,
	} {
		if err := errors.Join(store.CopyContent(from, to), os.Chmod(to, 0o755)); err != nil {
			return err
		}
	}
	if s.versions, err = versionsOf(paths.ShimFile); err != nil {
		return err
	}
	s.vdso, err = readVDSO(paths.VdsoFile)
	return err
}

// Peers whose behaviour is chosen get another vDSO, and random devices that are files of
// chosen bytes, for what does not go through the library that is preloaded into them: static
// programs, those of Go, direct system calls, and what the C library does for itself.

// randomBytes is how much can be read of a random device. A peer that reads more comes to the end
// of the file.
const randomBytes = 1 << 20

// readVDSO learns from a file how to map that as a vDSO: its segments, in whole pages, and where
// the state is that the proxy fills in.
func readVDSO(file string) (*proxy.VDSO, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &proxy.VDSO{File: paths.VdsoInGroup}
	// The kernel maps whole pages, so a segment begins and ends at the bounds of some.
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		const page = 4096
		s := proxy.Segment{Address: p.Vaddr &^ (page - 1), Offset: p.Off &^ (page - 1),
			Writable: p.Flags&elf.PF_W != 0}
		s.Size = (p.Vaddr+p.Memsz+page-1)&^(page-1) - s.Address
		v.Segments = append(v.Segments, s)
		v.Size = max(v.Size, s.Address+s.Size)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Name == "tandem_state" {
			v.State = s.Value
		}
	}
	if v.State == 0 {
		return nil, fmt.Errorf("%s is not the vDSO of the shim", file)
	}
	return v, nil
}

// replacements says which peers get another vDSO: those that are chosen. The key of each makes its
// random numbers.
func (s *shimFiles) replacements(g peers.Group) map[int]*proxy.VDSO {
	all := map[int]*proxy.VDSO{}
	for i, p := range g.Peers {
		if p.Choices == 0 || s.vdso == nil {
			continue
		}
		v := *s.vdso
		v.Key, v.Start = key(p.Behaviour, i), g.ClockStart().Unix()
		all[i] = &v
	}
	return all
}

// key makes a number that differs in many bits from those of other behaviours and peers. The same
// behaviour of the same peer has the same key in every run.
func key(behaviour, peer int) uint64 {
	return rand.NewPCG(uint64(behaviour), uint64(peer)).Uint64()
}

// writeRandom writes a file of chosen bytes, the same for the same behaviours of the peers. All
// peers of a group read the same devices, so their keys are put together.
func writeRandom(file string, g peers.Group) error {
	seed := uint64(0)
	for i, p := range g.Peers {
		seed ^= key(p.Behaviour, i)
	}
	source := rand.NewPCG(seed, 0)
	b := make([]byte, 0, randomBytes)
	for len(b) < randomBytes {
		b = binary.LittleEndian.AppendUint64(b, source.Uint64())
	}
	return os.WriteFile(file, b, 0o444)
}

// install puts the shim into the directory of the proxy, where the peers find it, and into their
// environment. Each peer is told in its environment where its counters are, and how it is to
// behave.
//
// A peer whose image has a C library that could not load the shim runs without it: its programs
// would end at once.
func (s *shimFiles) install(own string, g peers.Group) error {
	if s.vdso == nil {
		return nil
	}
	for i, p := range g.Peers {
		if p.Image.Digest != "" && !s.loads(g.Trees[p.Image.Digest].Library) {
			continue
		}
		g.Peers[i].Env = shim.Environment(p, i, paths.ShimInGroup, paths.CountersInGroup, g.ClockStart())
	}
	return errors.Join(
		os.Link(paths.ShimFile, filepath.Join(own, filepath.Base(paths.ShimInGroup))),
		os.Link(paths.VdsoFile, filepath.Join(own, filepath.Base(paths.VdsoInGroup))))
}

// makeCounters makes the file in which the shim of the peers counts what they read. The checker
// maps it, and so does the library in each peer.
func makeCounters(own string) (*os.File, error) {
	counters, err := os.OpenFile(filepath.Join(own, filepath.Base(paths.CountersInGroup)),
		os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	// A peer may become another user, and the umask is the checker's.
	if err := errors.Join(counters.Chmod(0o666), counters.Truncate(shim.CountersSize)); err != nil {
		counters.Close()
		return nil, err
	}
	return counters, nil
}
