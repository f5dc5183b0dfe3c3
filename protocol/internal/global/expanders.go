package global

import "github.com/tandem-mc/tandem/protocol/internal/forms"

// newExpands has a worker expand states of a form.
func newExpands(f forms.Form, w *worker) expands {
	switch f := f.(type) {
	case *forms.Vectors[[1]uint64]:
		return newVectorWorker(f, w)
	case *forms.Vectors[[2]uint64]:
		return newVectorWorker(f, w)
	case *forms.Vectors[[3]uint64]:
		return newVectorWorker(f, w)
	case *forms.Vectors[[4]uint64]:
		return newVectorWorker(f, w)
	}
	return newByteWorker(f.(*forms.Bytes), w)
}
