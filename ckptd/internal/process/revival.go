package process

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
)

// Revival is what it takes to make the processes of a group again.
type Revival struct {
	Files *openfiles.Making // what they had open
	Clock *os.File          // time namespace to be in
	Here  *unix.CPUSet      // where they run until they are released
}
