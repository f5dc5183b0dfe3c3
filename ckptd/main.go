package ckptd

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// runDaemon is the daemon's command with these arguments. The error is for standard error.
func runDaemon(args []string) error {
	var o SharedOptions
	f := flag.NewFlagSet(Program, flag.ContinueOnError)
	f.StringVar(&o.Socket, "listen", "", "be a shared daemon at this `socket`")
	f.IntVar(&o.MaxClients, "max-clients", 0, "greatest `number` of clients at a time (0: 16)")
	f.Int64Var(&o.Limits.MaxBytes, "max-bytes", 0, "greatest number of `bytes` in the images of a "+
		"client (0: 1 GiB)")
	f.IntVar(&o.Limits.MaxImages, "max-images", 0, "greatest `number` of images of a client (0: 4096)")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case f.NArg() > 0:
		return fmt.Errorf("there are no arguments, only flags: %q", f.Args())
	case o.Socket != "":
		return ServeShared(o)
	case os.Getpid() == 1:
		return Serve(o.Limits)
	}
	return errors.New("started by tandem as pid 1 of its own namespace, or by hand with --listen SOCKET")
}
