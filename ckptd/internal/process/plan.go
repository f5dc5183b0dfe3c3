package process

import (
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// plan is the program by which a copy makes a process again.
type plan struct {
	fork    *tracer.Batch // what the copy does
	made    int           // index of its call that makes the process
	main    *tracer.Batch // what the first thread of that does
	threads []newThread
}

// plan makes it for a process that is sent so many descriptors and has this memory mapped anew.
func (p *Process) plan(descriptors int, remapped []mappings.Remap) plan {
	s := tracer.NewProgram(p.injected)
	fork := s.Batch()
	fork.MakePair()
	made := fork.Clone("copy the copy", tracer.CloneArguments{Flags: unix.CLONE_PARENT | unix.CLONE_PTRACE},
		p.Inner)
	fork.Add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	main := s.Batch()
	p.install(main, descriptors, remapped)
	p.resume(main)
	return plan{fork: fork, made: made, main: main, threads: makeThreads(main, p.threads[1:])}
}

// checkPlan refuses a copy of which no process could be made again.
func (p *Process) checkPlan() error {
	remapped, sent := p.mayRemap(), p.Descriptors.Descriptions()+2 // the namespaces
	for _, m := range remapped {
		if m.FromFile {
			sent++
		}
	}
	if sent > seqpacket.MaxDescriptors {
		return incarnation.Refuse(
			"process %d of the group has %d open and mapped files to be opened again, more than %d", p.Inner,
			sent-2, seqpacket.MaxDescriptors-2)
	}
	if err := p.plan(sent, remapped).main.Program.Fit(); err != nil {
		return incarnation.Refuse(
			"process %d of the group, with %d threads, %d descriptors and %d mappings, could not be made "+
				"again: %w",
			p.Inner, len(p.threads), len(p.Descriptors), len(p.mappings), err)
	}
	return nil
}
