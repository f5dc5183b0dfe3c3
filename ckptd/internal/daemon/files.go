package daemon

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/internal/sys"
)

// Files are compared with those of the last image, and with what is known of them since, in this
// order: what shows that it was not touched is not read. Everything else is, since a peer that
// writes to a file need not leave more than a later time.

// groupFiles are the files of a group, which are saved with each image and go back with it.
//
// What is known of them is kept from image to image, since to compare all is what takes longest
// where there are many.
type groupFiles struct {
	directory string // of the group; the proxy's in it is left alone
	store     *store.Store
	base      *store.FileNode // as they were when they were saved or put back last; nil: never
	stamps    store.Stamps    // what is known of them without a look; nil: nothing
}

// save copies the files to an image. The group must not run. What has not changed since base is
// shared with the image that base is of.
func (f *groupFiles) save(i *store.Image, mapped store.MappedFiles) (err error) {
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	s := store.TreeSaver{
		FileComparison: store.FileComparison{Known: f.stamps, Mapped: mapped},
		Except:         paths.ProxyDirectory,
		CopyOf: func(path string, _ int64) (*store.Content, error) {
			return f.store.Contents().CopyOf(path, buffer)
		},
	}
	i.Tree, err = s.Save(f.directory, f.base)
	i.Contents, i.Fresh = s.Used, s.Fresh
	return err
}

// saveKnown is save for a backend that tells what the peers have mapped, so that stamps can be
// relied on.
func (f *groupFiles) saveKnown(i *store.Image, mapped store.MappedFiles) error {
	if f.stamps == nil {
		f.stamps = store.Stamps{}
	}
	return f.save(i, mapped)
}

// saveUnknown is save where nobody has looked what is mapped: what is mapped may be written to
// without a trace.
func (f *groupFiles) saveUnknown(i *store.Image, mapped store.MappedFiles) error {
	f.stamps = nil
	return f.save(i, mapped)
}

// comparison is how the files of the group are compared with those of an image in a restore. What
// was mapped at the checkpoint may have been written to since without a trace.
func (f *groupFiles) comparison(i *store.Image) *store.FileComparison {
	if !i.Saved.InMemory() {
		return &store.FileComparison{} // nobody has looked what is mapped
	}
	return &store.FileComparison{Known: f.stamps, Mapped: i.Saved.Mapped()}
}

// check returns an error that names a file of an image that is not as it was written, nil if there
// is none that a restore reads. Of CRIU's part all is read, since CRIU itself would not notice. Of
// the files only those are read that differ from what the group has now.
func (f *groupFiles) check(i *store.Image) error {
	err := i.Manifest.Check(i.Directory)
	if err == nil {
		err = f.comparison(i).Check(i.Tree, f.directory)
	}
	return err
}

// putBack puts back the files of an image, in the place of other images if need be: the files of
// groups and the images share a file system.
func (f *groupFiles) putBack(i *store.Image) error {
	for {
		r := store.TreeRestorer{FileComparison: *f.comparison(i), Except: paths.ProxyDirectory}
		if !i.Saved.InMemory() {
			f.stamps = nil
		}
		err := r.Restore(i.Tree, f.directory)
		if err == nil {
			f.base = i.Tree
		}
		// What was put back so far stays, and is found to be the same the next time.
		if !errors.Is(err, unix.ENOSPC) || f.store.MakeRoom() != nil {
			return err
		}
	}
}
