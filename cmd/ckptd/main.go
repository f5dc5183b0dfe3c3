// Tandem-ckptd is the checkpoint daemon. Tandem starts it, for itself alone; with --listen
// it is a shared one, which `tandem ckptd start` starts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/tandem-mc/tandem/ckptd"
)

// main has the exit code 1 for every error, which it writes to standard error. A limit of 0 stands
// for the default, as it does in the package.
//
// It must run as root: it makes namespaces, mounts a tmpfs and starts CRIU. That it has pid 1 shows
// that it was started in a namespace of its own, so that all its children end with it.
func main() {
	var o ckptd.SharedOptions
	flag.StringVar(&o.Socket, "listen", "", "be a shared daemon at this `socket`")
	flag.IntVar(&o.MaxClients, "max-clients", 0, "greatest `number` of clients at a time (0: 16)")
	flag.Int64Var(&o.Limits.MaxBytes, "max-bytes", 0, "greatest number of `bytes` in the images of a "+
		"client (0: 1 GiB)")
	flag.IntVar(&o.Limits.MaxImages, "max-images", 0, "greatest `number` of images of a client (0: 4096)")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("there are no arguments, only flags: %q", flag.Args())
	case o.Socket != "":
		err = ckptd.ServeShared(o)
	case os.Getpid() == 1:
		err = ckptd.Serve(o.Limits)
	default:
		err = errors.New("started by tandem as pid 1 of its own namespace, or by hand with --listen SOCKET")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd:", err)
		os.Exit(1)
	}
}
