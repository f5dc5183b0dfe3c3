package process

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
)

// TestPlansThatDoNotFit are those in which memory is mapped anew, too.
func TestPlansThatDoNotFit(t *testing.T) {
	made := func(generation, descriptors, mappings int, m mappings.Mapping) *Saved {
		p := &Saved{Inner: 7, Memory: AddressSpace{Generation: generation}, threads: []*thread{{}}}
		for n := range descriptors {
			p.Descriptors = append(p.Descriptors, openfiles.Descriptor{Number: n, Twin: -1})
		}
		for n := range mappings {
			each := m
			each.From, each.Length = uint64(2*n)<<12, 1<<12
			p.Memory.mappings = append(p.Memory.mappings, &each)
		}
		return p
	}
	own := mappings.Mapping{Touched: true, Protection: unix.PROT_READ, Flags: []string{"rd"}}
	library := mappings.Mapping{Inode: 1, Name: paths.Run + "/library.so"}
	for name, test := range map[string]struct {
		p    *Saved
		want string
	}{
		"memory that is not mapped anew": {made(MaxGeneration-1, 3, tracer.MaxCalls, own), ""},
		"some of it is mapped anew":      {made(MaxGeneration, 3, tracer.MaxCalls/2, own), ""},
		"too much of it": {made(MaxGeneration, 3, tracer.MaxCalls, own),
			"process 7 of the group, with 1 threads, 3 descriptors and 5000 mappings, could not be made " +
				"again"},
		"files of the group": {made(0, openfiles.MaxDescriptors, 11, library), ""},
		"too many to be sent": {made(0, openfiles.MaxDescriptors, 12, library),
			"has 252 open and mapped files to be opened again, more than 251"},
	} {
		err := test.p.checkPlan()
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.Is(err, incarnation.ErrRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
