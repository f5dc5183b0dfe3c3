package store

// Where there is no room for another image, the least useful one goes. An image saves that
// inputs are given again, from the nearest image above it: the more of these there are, and
// the more often it is restored, the more it is worth; and the less, the more room it takes.
// What was of use once need not be so for ever. All that is weighed by GDSF (GreedyDual-Size
// with frequency: Cherkasova, Improving WWW Proxies Performance with
// Greedy-Dual-Size-Frequency Caching Policy, HP Laboratories, 1998; after Cao and Irani,
// USITS 1997): what an image is worth comes on top of what the last one that had to go was
// worth when the image was used last. When one goes, those below it are worth the more:
// so a long line of images is thinned out, and not cut off.

// History is how an image came about, and was used.
type History struct {
	Parent *Image // the nearest one above it that there is; nil: there is none
	Steps  int    // inputs from there to here, or what stands for them
	// Unrepeatable: on the way from there the peers have read what they would not read
	// again, so that giving the inputs again may not lead here.
	Unrepeatable bool

	uses int     // restores
	base float64 // usefulness of the last image that had to go when this one was used last
}

// follow has an image that is gone no longer be the parent.
func (h *History) follow(gone *Image) {
	h.Parent = gone.Parent
	h.Steps += gone.Steps
	h.Unrepeatable = h.Unrepeatable || gone.Unrepeatable
}

// usefulness is the value of GDSF: base is the age that is counted in, the inputs that the image
// saves are the cost, and the restores the frequency.
func (i *Image) usefulness() float64 {
	const smallest = 4096 // bytes: what is smaller is as good
	return i.base + float64(1+i.uses)*float64(i.Steps)/float64(max(i.Bytes, smallest))
}

// leastUseful is the image to do without; nil if there is none. Images that may not be had
// again are the last to go, and the first one of a group stays, as the way back that is
// always there. Of equal ones the oldest goes.
func leastUseful(images []*Image) *Image {
	var least *Image
	for _, i := range images {
		switch {
		case i.first || i.inUse:
		case least == nil, least.Unrepeatable && !i.Unrepeatable,
			least.Unrepeatable == i.Unrepeatable && i.usefulness() < least.usefulness():
			least = i
		}
	}
	return least
}
