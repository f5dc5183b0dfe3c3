package ckptd

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Peers whose behaviour is chosen get another vDSO, and random devices that are files of
// chosen bytes, for what does not go through the library that is preloaded into them: static
// programs, those of Go, direct system calls, and what the C library does for itself.

const (
	vdsoFile    = baseDirectory + "/vdso.so"
	vdsoInGroup = runDirectory + "/" + proxyDirectory + "/vdso.so"
	// randomBytes is how much can be read of a random device.
	randomBytes = 1 << 20
)

// readVDSO learns how to map a VDSO, and where what is to be put in place is.
func readVDSO(file string) (*proxy.VDSO, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &proxy.VDSO{File: vdsoInGroup}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		const page = 4096
		s := proxy.Segment{Address: p.Vaddr &^ (page - 1), Offset: p.Off &^ (page - 1), Writable: p.Flags&elf.PF_W != 0}
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

// replacements says which peers get another vDSO: those that are chosen.
func (h *hosted) replacements(g peers.Group) (map[int]*proxy.VDSO, error) {
	all := map[int]*proxy.VDSO{}
	for i, p := range g.Peers {
		if p.Choices == 0 || !h.daemon.hasShim {
			continue
		}
		v := *h.daemon.vdso
		v.Key, v.Start = key(p.Behaviour, i), g.ClockStart().Unix()
		all[i] = &v
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, h.chooseDevices(g)
}

// key makes a number that differs in many bits from those of other behaviours and peers.
func key(behaviour, peer int) uint64 {
	return rand.NewPCG(uint64(behaviour), uint64(peer)).Uint64()
}

// chooseDevices puts a file of chosen bytes in the place of the random devices.
func (h *hosted) chooseDevices(g peers.Group) error {
	seed := uint64(0)
	for i, p := range g.Peers {
		seed ^= key(p.Behaviour, i)
	}
	source := rand.NewPCG(seed, 0)
	b := make([]byte, 0, randomBytes)
	for len(b) < randomBytes {
		b = binary.LittleEndian.AppendUint64(b, source.Uint64())
	}
	file := filepath.Join(h.directory, proxyDirectory, "random")
	if err := os.WriteFile(file, b, 0o444); err != nil {
		return err
	}
	for _, device := range []string{"/dev/random", "/dev/urandom"} {
		if _, err := os.Stat(filepath.Join(devicesDirectory, device[len("/dev"):])); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		h.mounts = append(h.mounts, proxy.Mount{Source: file, Target: device})
	}
	return nil
}
